//! Bodies are read, and room is waited for, before a decision that needs them.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use runtime_effect::kind::Kind;
use runtime_fleet::{cluster::Cluster, object::ObjectKey, watch::WatchSpec, write::Writer};
use tokio::time::Instant;
use tracing::debug;

use super::{Needs, Room};
use crate::engine::{Engine, Reachable};

/// How long decisions wait for the body of a copy. A provider that does not answer must not hold up what others serve:
/// what it holds stays unknown.
const PATIENCE: Duration = Duration::from_secs(1);

impl Engine {
    /// Waits for what a decision needs. What cannot be had is unknown to it.
    pub(crate) async fn provide(&self, needs: Needs) -> Room<'_> {
        let room = match needs.room() {
            0 => None,
            // Never closed.
            room => self.bodies.room.acquire_many(room).await.ok(),
        };
        let wanted = needs.bodies.iter().filter(|(cluster, ..)| !self.bodies.rests(cluster.name()));
        let reads = wanted.map(async |(cluster, spec, key)| {
            let read = tokio::time::timeout(PATIENCE, self.read_body(cluster, spec, key)).await;
            if !matches!(read, Ok(true)) {
                self.bodies.rest(cluster.name());
            }
        });
        join_all(reads).await;
        room
    }

    /// Reads one object and holds it for decisions. Returns whether its API server has answered.
    async fn read_body(&self, cluster: &Cluster, spec: &Arc<WatchSpec>, key: &ObjectKey) -> bool {
        let name = cluster.name();
        // One that is not reachable is waited for elsewhere.
        let Some(Reachable { caller, kind, .. }) = self.reachable(name, &Kind::from(&spec.gvk)) else { return true };
        let asked = Instant::now();
        match Writer::new(&caller).get(&kind, key).await {
            Ok(found) => {
                if let Some(object) = found {
                    self.bodies.put(name, spec, key, object, asked);
                }
                true
            }
            Err(error) => {
                debug!(cluster = %name, %key, %error, "an object cannot be read");
                false
            }
        }
    }
}
