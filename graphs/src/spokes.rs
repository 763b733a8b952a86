//! Spokes: each RGD is in each of them as its rollout says, and its instances there are served.

pub mod listen;
pub mod machine;
pub mod records;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use graphs_core::rollout::{Reach, Reason};
use runtime_engine::clock;
use runtime_fleet::{
    cluster::{Cause, Cluster, ClusterState},
    lock::lock,
    queue::Queue,
};

use self::records::Records;
use crate::definitions::DefinitionKey;

/// Spokes, and the RGDs in them to look at: keys of the spoke, with the name that the RGD has in the hub.
#[derive(Default)]
pub struct Spokes {
    queue: Arc<Queue<DefinitionKey>>,
    /// What is remembered of them.
    pub records: Records,
    /// Since when nothing is known of a spoke, in milliseconds.
    lost: Mutex<HashMap<ClusterName, u64>>,
}

impl Spokes {
    /// Those to look at.
    pub fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        &self.queue
    }

    /// Looks at one.
    pub fn enqueue(&self, key: DefinitionKey) {
        self.queue().add(key);
    }

    /// A spoke came, or went, or something is known of it again.
    pub fn state(&self, cluster: &ClusterName, state: &ClusterState) {
        let mut lost = lock(&self.lost);
        match state {
            ClusterState::Ready | ClusterState::Leaving => _ = lost.remove(cluster),
            ClusterState::Connecting | ClusterState::Unreachable { .. } => {
                lost.entry(cluster.clone()).or_insert_with(|| clock::now().millis);
            }
        }
    }

    /// What can be told of an RGD in a spoke.
    pub fn reach(&self, key: &DefinitionKey, cluster: &Cluster) -> Reach {
        let since = lock(&self.lost).get(&key.cluster).copied();
        let unknown = |reason, message: String| {
            let since = since.unwrap_or_else(|| clock::now().millis);
            Reach::Unreachable { reason, message, since }
        };
        match cluster.state() {
            ClusterState::Ready => match self.records.seen(key) {
                Some(spoke) => Reach::Reached(spoke),
                None => unknown(Reason::Unreachable, "its CRDs are not read yet".to_owned()),
            },
            ClusterState::Unreachable { cause, why, .. } => {
                let reason = match cause {
                    Cause::Lost => Reason::Unreachable,
                    Cause::IdentityChanged => Reason::IdentityChanged,
                    Cause::Duplicate => Reason::DuplicateCluster,
                };
                unknown(reason, why)
            }
            state => unknown(Reason::Unreachable, format!("it is {}", state.as_str())),
        }
    }
}
