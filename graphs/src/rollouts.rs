//! Rollouts: which spoke gets which revision of an RGD. Without a ResourceGraphRollout all get the newest at once.

pub mod listen;
pub mod machine;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use broker_api::{ClusterName, graphs::rollout::ClusterCounts};
use graphs_core::{definition::Distributed, rollout::Assigned};
use runtime_effect::memory::{Memory, Sole};
use runtime_fleet::{lock::lock, queue::Queue};

use crate::definitions::DefinitionKey;

/// Revisions of an RGD that some cluster runs, or is to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Those that are known: they are compiled.
    pub revisions: Vec<i64>,
    /// There are no others: all clusters were read.
    pub whole: bool,
}

/// What was decided of an RGD.
#[derive(Default)]
pub struct Record {
    /// Of writes to its rollout.
    pub memory: Memory<Sole>,
    /// What each spoke is to run.
    pub assigned: BTreeMap<ClusterName, Assigned>,
    /// What is said on the RGD.
    pub distributed: Distributed,
    /// Revisions that are run, or are to be.
    pub kept: Kept,
    /// How many clusters stand how.
    pub counts: ClusterCounts,
    /// Instances in the hub are served; `None`: that is not decided.
    pub serves_hub: Option<bool>,
    /// Clusters that an RGD which is being deleted has not left; `None`: that is not decided.
    pub leaving: Option<Vec<ClusterName>>,
}

/// Rollouts, and the RGDs of those to look at.
#[derive(Default)]
pub struct Rollouts {
    queue: Arc<Queue<DefinitionKey>>,
    all: Mutex<HashMap<DefinitionKey, Arc<Mutex<Record>>>>,
}

impl Rollouts {
    /// Those to look at.
    pub fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        &self.queue
    }

    /// Looks at one, by the key of its RGD.
    pub fn enqueue(&self, key: DefinitionKey) {
        self.queue().add(key);
    }

    /// What was decided of an RGD.
    pub fn get(&self, key: &DefinitionKey) -> Option<Arc<Mutex<Record>>> {
        lock(&self.all).get(key).cloned()
    }

    /// What was decided of an RGD; nothing yet, where that is new.
    pub fn of(&self, key: &DefinitionKey) -> Arc<Mutex<Record>> {
        Arc::clone(lock(&self.all).entry(key.clone()).or_default())
    }

    /// Revisions that some cluster runs, or is to.
    pub fn kept(&self, key: &DefinitionKey) -> Kept {
        self.get(key).map(|record| lock(&record).kept.clone()).unwrap_or_default()
    }

    /// Whether instances in the hub are served; `None`: that is not decided.
    pub fn serves_hub(&self, key: &DefinitionKey) -> Option<bool> {
        lock(&*self.get(key)?).serves_hub
    }

    /// Clusters that an RGD which is being deleted has not left; `None`: that is not decided.
    pub fn leaving(&self, key: &DefinitionKey) -> Option<Vec<ClusterName>> {
        lock(&*self.get(key)?).leaving.clone()
    }

    /// How many clusters of each RGD stand how.
    pub fn counts(&self) -> Vec<(Arc<str>, ClusterCounts)> {
        let all: Vec<_> = lock(&self.all).iter().map(|(key, record)| (key.name.clone(), Arc::clone(record))).collect();
        all.into_iter().map(|(name, record)| (name, lock(&record).counts)).collect()
    }

    /// The RGD is no more.
    pub fn forget(&self, key: &DefinitionKey) {
        lock(&self.all).remove(key);
    }

    /// What a spoke is to run; `None`: that is not decided.
    pub fn assigned(&self, key: &DefinitionKey, spoke: &ClusterName) -> Option<Assigned> {
        lock(&*self.get(key)?).assigned.get(spoke).copied()
    }
}
