//! Instances: the children of each are kept as its graph says.

pub mod counts;
pub mod generated;
pub mod groups;
pub mod key;
pub mod listen;
pub mod machine;
pub mod record;
pub mod references;
pub mod verdicts;
pub mod versions;
pub mod world;

use std::{ops::Deref, sync::Arc};

use broker_api::ClusterName;
use graphs_core::{applyset::GroupKind, instance::State};
use runtime_engine::records::Records;
use runtime_fleet::{hashed::HashMap, lock::lock, object::ObjectKey};

pub use self::key::InstanceKey;
use self::{counts::Counts, generated::Generated, record::Record, references::References, verdicts::Verdicts};

/// Instances, those of them to look at, and what is remembered of them.
#[derive(Default)]
pub struct Instances {
    records: Records<InstanceKey, Record>,
    /// To what they refer.
    pub references: References,
    /// Their kinds.
    pub generated: Generated,
    /// How they stand.
    pub counts: Counts,
    /// What is said of them.
    pub verdicts: Verdicts,
}

impl Deref for Instances {
    type Target = Records<InstanceKey, Record>;

    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

impl Instances {
    /// All of a kind.
    pub fn of_kind(&self, cluster: &ClusterName, kind: &GroupKind) -> Vec<InstanceKey> {
        let first =
            InstanceKey { cluster: cluster.clone(), kind: Arc::new(kind.clone()), object: ObjectKey::new("", "") };
        self.row(&first, |key| (&key.cluster, &key.kind) == (&first.cluster, &first.kind))
    }

    /// All of a cluster.
    pub fn of_cluster(&self, cluster: &ClusterName) -> Vec<InstanceKey> {
        self.keys(|key| key.cluster == *cluster)
    }

    /// How many are in each state.
    pub fn states(&self) -> HashMap<State, usize> {
        let mut states = self.counts.all();
        let known: usize = states.values().sum();
        states.insert(State::Unknown, self.len().saturating_sub(known));
        states
    }

    /// Nothing is remembered of an instance any more. Returns whether fewer say ERROR by that.
    pub fn leave(&self, key: &InstanceKey) -> bool {
        let Some(record) = self.records.forget(key) else { return false };
        let Record { state, fails, .. } = *lock(&record);
        self.counts.change(state, State::Unknown);
        self.verdicts.change(key, fails, None)
    }

    /// Looks at all of a kind.
    pub fn enqueue_kind(&self, cluster: &ClusterName, kind: &GroupKind) {
        for key in self.of_kind(cluster, kind) {
            self.enqueue(key);
        }
    }

    /// Looks at all of a cluster.
    pub fn enqueue_of(&self, cluster: &ClusterName) {
        for key in self.of_cluster(cluster) {
            self.enqueue(key);
        }
    }
}
