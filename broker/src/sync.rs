//! Whether all that was there at the start has been looked at, and what is done then.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::broker::Broker;

/// How often it is asked until then.
const TICK: Duration = Duration::from_millis(500);

/// After so long counts are taken to be right, although the queue was never empty.
const LONG_ENOUGH: Duration = Duration::from_mins(1);

/// Notes when the broker is in step with all clusters.
pub(crate) async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    while !broker.looked_at_all() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
    }
    info!(after = ?broker.started.elapsed(), "in step with all clusters");
    broker.set_synced();
    broker.look_after_providers();
}

impl Broker {
    fn looked_at_all(&self) -> bool {
        let settled = !self.fleet().clusters().iter().any(|cluster| cluster.is_coming());
        let idle = self.queue.is_idle() || self.started.elapsed() > LONG_ENOUGH;
        settled && self.ring.load().is_some() && idle
    }

    /// All providers: see [`Broker::look_after_provider`].
    pub(crate) fn look_after_providers(&self) {
        for provider in self.fleet().in_role(Role::Provider) {
            self.look_after_provider(provider.name());
        }
    }

    /// What a leader does for a provider once it is in step with all clusters: namespaces that an earlier process made go
    /// where they are empty, and AcceptAPIs are told how they stand.
    pub(crate) fn look_after_provider(&self, provider: &ClusterName) {
        if self.is_synced() && self.leads() {
            self.sweep_namespaces(provider);
            self.enqueue_statuses(provider);
        }
    }
}
