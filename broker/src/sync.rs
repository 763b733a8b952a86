//! Whether all that was there at the start has been looked at, and what is done then.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use runtime_fleet::cluster::Cluster;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::broker::Broker;

/// How often it is asked until then.
const TICK: Duration = Duration::from_millis(500);

/// So long it is waited for at the start.
const LONG_ENOUGH: Duration = Duration::from_mins(1);

/// Notes when the broker is in step with all clusters.
pub(crate) async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    // Counts are taken to be right then, although the queue was never empty.
    let is_late = || broker.started.elapsed() > LONG_ENOUGH;
    while !(broker.is_in_step() || is_late() && broker.waits_for_nobody(&broker.fleet().clusters())) {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
    }
    info!(after = ?broker.started.elapsed(), "in step with all clusters");
    broker.intake.set_synced();
    broker.look_after_providers();
}

impl Broker {
    /// Waits until the broker is in step with all clusters, and notes that. For whoever waits for nothing else: it is looked
    /// whenever something has become known, which a broker at work has no need of.
    pub async fn in_step(&self) {
        loop {
            // Before it is looked: what comes meanwhile is not missed. That somebody is not worth waiting for any longer only
            // the time tells.
            let (news, idle) = (self.intake.news(), self.origins.queue.idled());
            if self.is_in_step() {
                return self.intake.set_synced();
            }
            tokio::select! {
                () = news => {}
                () = idle => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Whether nobody is worth waiting for any longer.
    fn waits_for_nobody(&self, clusters: &[Arc<Cluster>]) -> bool {
        self.signing.ring.load().is_some() && !clusters.iter().any(|cluster| cluster.is_coming())
    }

    /// In this order: what is known is in the queue by then.
    fn is_in_step(&self) -> bool {
        self.took_all_in() && self.looked_at_all()
    }

    fn looked_at_all(&self) -> bool {
        let clusters = self.fleet().clusters();
        // In this order: whoever has heard that all is there has put into the queue what is to be looked at.
        let told = || clusters.iter().all(|cluster| cluster.has_told());
        self.waits_for_nobody(&clusters) && told() && self.origins.queue.is_idle()
    }

    /// Whether what clusters have told is taken in, too: tasks of their own do that, in a moment.
    fn took_all_in(&self) -> bool {
        let clusters = self.clusters.departures.are_known() || !self.are_secrets_read();
        let registry = self.accept_apis.load();
        let accept_apis = |provider: &Arc<Cluster>| {
            let told = provider.index(&self.watches.accept_apis).is_some_and(|index| index.is_complete());
            registry.knows(provider.name()) || !told
        };
        let configurations = self.configurations_known() || !self.hub_knows(&self.watches.configurations);
        let known = clusters && configurations && self.fleet().in_role(Role::Provider).iter().all(accept_apis);
        // After all that: it is seen a moment before it is in the queue.
        known && self.intake.is_over()
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
        if self.intake.is_synced() && self.leads() {
            self.sweep_namespaces(provider);
            self.enqueue_statuses(provider);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_core::assignment::{Key, KeyRing};
    use runtime_fleet::{object::ObjectKey, queue::Outcome};
    use tokio::time::Instant;

    use super::*;
    use crate::origins::key::origin_key;

    fn ring() -> Arc<KeyRing> {
        Arc::new(KeyRing::new(vec![Key { id: "k".into(), secret: vec![7; 32] }]).unwrap())
    }

    /// What the registry says is seen a moment before those that it concerns are in the queue.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_in_step_while_keys_are_still_on_their_way_into_the_queue() {
        let broker = Broker::of_one_kind().0;
        broker.signing.ring.store(Some(ring()));
        broker.clusters.departures.files_read();
        broker.clusters.departures.secrets_read();
        let mut in_step = std::pin::pin!(broker.in_step());
        let mut at_work = std::pin::pin!(run(Arc::clone(&broker), CancellationToken::new()));
        let taking = broker.intake.begin();
        broker.accept_apis.change(|registry| registry.mark_known(&ClusterName::provider("theseus")));
        broker.intake.tell();
        assert!(futures::poll!(in_step.as_mut()).is_pending(), "the queue is idle, and will not be in a moment");
        for _ in 0..3 {
            assert!(futures::poll!(at_work.as_mut()).is_pending(), "however long that takes");
            tokio::time::advance(TICK).await;
        }
        let (homer, kind) = (ClusterName::consumer("homer"), Arc::clone(&broker.watches.brokered[0].kind));
        broker.origins.enqueue(origin_key(&homer, &kind, &ObjectKey::new("n", "a")));
        drop(taking);
        assert!(futures::poll!(in_step.as_mut()).is_pending(), "it is in the queue");
        assert!(!broker.intake.is_synced());
        let turn = broker.origins.queue.next().await.unwrap();
        broker.origins.queue.finish(&turn.key, Outcome::Done);
        in_step.await;
        assert!(broker.intake.is_synced());
        tokio::time::advance(TICK).await;
        at_work.await;
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_nothing_else_is_told_at_once() {
        let broker = Broker::of_one_kind().0;
        let began = Instant::now();
        let learn = async {
            tokio::time::sleep(TICK / 5).await;
            broker.signing.ring.store(Some(ring()));
            broker.intake.tell();
            tokio::time::sleep(TICK / 5).await;
            assert!(!broker.intake.is_synced(), "nobody knows yet which clusters there are");
            broker.clusters.departures.files_read();
            broker.clusters.departures.secrets_read();
            broker.intake.tell();
        };
        tokio::join!(broker.in_step(), learn);
        assert!(broker.intake.is_synced() && began.elapsed() < TICK, "after {:?}", began.elapsed());
    }
}
