//! `Records`: what is remembered of instances between decisions. Losing it costs nothing but time.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use graphs_core::{
    applyset::GroupKind,
    instance::{Memory, State},
};
use runtime_engine::recorder::Told;
use runtime_fleet::lock::lock;

use super::InstanceKey;

/// What is remembered of an instance.
#[derive(Default)]
pub struct Record {
    /// Of its writes.
    pub memory: Memory,
    /// What people were told.
    pub told: Told,
    /// How it stands.
    pub state: State,
    /// It needs watches of its own.
    pub needs: bool,
}

#[derive(Default)]
struct All {
    records: HashMap<InstanceKey, Arc<Mutex<Record>>>,
    kinds: HashMap<(ClusterName, Arc<GroupKind>), HashSet<InstanceKey>>,
}

/// See the module.
#[derive(Default)]
pub struct Records(Mutex<All>);

impl Records {
    /// That of an instance, new where there is none.
    pub fn of(&self, key: &InstanceKey) -> Arc<Mutex<Record>> {
        let mut all = lock(&self.0);
        if let Some(record) = all.records.get(key) {
            return Arc::clone(record);
        }
        let record = Arc::<Mutex<Record>>::default();
        all.records.insert(key.clone(), Arc::clone(&record));
        all.kinds.entry((key.cluster.clone(), Arc::clone(&key.kind))).or_default().insert(key.clone());
        record
    }

    /// That of an instance, if there is one.
    pub fn get(&self, key: &InstanceKey) -> Option<Arc<Mutex<Record>>> {
        lock(&self.0).records.get(key).cloned()
    }

    /// An instance is no more.
    pub fn forget(&self, key: &InstanceKey) {
        let mut all = lock(&self.0);
        all.records.remove(key);
        let place = (key.cluster.clone(), Arc::clone(&key.kind));
        if let Some(keys) = all.kinds.get_mut(&place) {
            keys.remove(key);
            if keys.is_empty() {
                all.kinds.remove(&place);
            }
        }
    }

    /// All of a kind.
    pub fn of_kind(&self, cluster: &ClusterName, kind: &GroupKind) -> Vec<InstanceKey> {
        let place = (cluster.clone(), Arc::new(kind.clone()));
        lock(&self.0).kinds.get(&place).into_iter().flatten().cloned().collect()
    }

    /// All of a cluster.
    pub fn of_cluster(&self, cluster: &ClusterName) -> Vec<InstanceKey> {
        lock(&self.0).records.keys().filter(|key| key.cluster == *cluster).cloned().collect()
    }

    /// How many are in each state.
    pub fn states(&self) -> HashMap<State, usize> {
        let all: Vec<_> = lock(&self.0).records.values().cloned().collect();
        all.iter().fold(HashMap::new(), |mut states, record| {
            *states.entry(lock(record).state).or_default() += 1;
            states
        })
    }
}
