//! Spokes: each RGD is in each of them as its rollout says, and its instances there are served.

mod coming;
pub mod listen;
mod look;
pub mod machine;
pub mod record;

use std::{collections::BTreeSet, ops::Deref, sync::Mutex};

use broker_api::ClusterName;
use graphs_core::rollout::{Mark, Reach, Reason};
use runtime_engine::{clock, records::Records};
use runtime_fleet::{
    cluster::{Cause, Cluster, ClusterState},
    hashed::HashMap,
    lock::lock,
};

use self::record::Record;
use crate::definitions::DefinitionKey;

/// RGDs in spokes, those of them to look at, and what is remembered of them: keys of the spoke, with the name that the RGD has in
/// the hub.
#[derive(Default)]
pub struct Spokes {
    records: Records<DefinitionKey, Record>,
    /// Those that are left now, instances first.
    departing: Mutex<BTreeSet<DefinitionKey>>,
    /// Since when nothing is known of a spoke, in milliseconds.
    lost: Mutex<HashMap<ClusterName, u64>>,
}

impl Deref for Spokes {
    type Target = Records<DefinitionKey, Record>;

    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

impl Spokes {
    /// Whether anything was seen.
    pub fn is_seen(&self, key: &DefinitionKey) -> bool {
        self.with(key, |record| record.seen.is_some()) == Some(true)
    }

    /// Whether some revision could not be brought there when it was last looked at.
    pub fn is_in_trouble(&self, key: &DefinitionKey) -> bool {
        self.with(key, |record| record.seen.as_ref().is_some_and(|seen| !seen.troubles.is_empty())) == Some(true)
    }

    /// Looks at all RGDs that are on their way to a spoke: they may wait for one that does not get there.
    pub fn enqueue_begun(&self, cluster: &ClusterName) {
        let first = DefinitionKey { cluster: cluster.clone(), name: "".into() };
        for key in self.row(&first, |key| key.cluster == *cluster) {
            if self.with(&key, |record| record.begun.is_some()) == Some(true) {
                self.enqueue(key);
            }
        }
    }

    /// What was seen last of its CRD; `None`: nothing was yet.
    pub fn last(&self, key: &DefinitionKey) -> Option<Option<Mark>> {
        self.with(key, |record| (record.seen.is_some() || record.last.is_some()).then(|| record.last.clone()))?
    }

    /// What is there of an RGD is released or deleted from now on, or no longer.
    pub fn departs(&self, key: &DefinitionKey, departs: bool) {
        let mut departing = lock(&self.departing);
        if departs {
            departing.insert(key.clone());
        } else {
            departing.remove(key);
        }
    }

    /// Whether anything in a spoke is released or deleted now.
    pub fn is_departed_from(&self, cluster: &ClusterName) -> bool {
        lock(&self.departing).iter().any(|key| key.cluster == *cluster)
    }

    /// Nothing is known of a spoke any more, or all has to be looked at again: what happened meanwhile took no time.
    pub fn lose(&self, cluster: &ClusterName) {
        let first = DefinitionKey { cluster: cluster.clone(), name: "".into() };
        for key in self.row(&first, |key| key.cluster == *cluster) {
            self.with(&key, |record| {
                record.seen = None;
                // Somebody may have put another cluster there.
                record.left = None;
                record.turn(None, None, clock::now().millis);
            });
        }
    }

    /// What was seen of a spoke may be old. As long as that lasts it is as one that cannot be reached.
    pub fn doubt(&self, cluster: &ClusterName) {
        self.lose(cluster);
        lock(&self.lost).entry(cluster.clone()).or_insert_with(|| clock::now().millis);
    }

    /// Its CRDs are read (again).
    pub fn read(&self, cluster: &ClusterName) {
        lock(&self.lost).remove(cluster);
    }

    /// All spokes of an RGD.
    pub fn of_name(&self, name: &str) -> Vec<DefinitionKey> {
        self.keys(|key| *key.name == *name)
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
            ClusterState::Ready => match self.with(key, |record| record.seen.clone()).flatten() {
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
