//! `Serving`: from what the instances of each kind are served.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_fleet::{hashed::HashMap, lock::lock};

use crate::{compiled::Compiled, definitions::DefinitionKey};

/// A revision that serves.
pub struct Served {
    /// The RGD.
    pub definition: DefinitionKey,
    /// Its uid.
    pub uid: Box<str>,
    /// Number of the revision.
    pub number: i64,
    /// It was issued by an earlier owner, and has not changed since.
    pub inherited: bool,
    /// What it comes to.
    pub compiled: Arc<Compiled>,
}

type Key = (ClusterName, GroupKind);

/// What serves each kind.
#[derive(Default)]
pub struct Serving {
    /// By cluster: what an RGD serves is looked for among those of its own, however many clusters there are.
    all: RwLock<HashMap<ClusterName, HashMap<GroupKind, Arc<Served>>>>,
    /// How many instances of a kind are being marked as ours.
    marking: Mutex<HashMap<Key, usize>>,
}

/// An instance is being marked as ours as long as this is there.
pub struct Marking<'a> {
    serving: &'a Serving,
    key: Key,
}

impl Drop for Marking<'_> {
    fn drop(&mut self) {
        let mut marking = lock(&self.serving.marking);
        if let Some(count) = marking.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                marking.remove(&self.key);
            }
        }
    }
}

impl Serving {
    /// What serves a kind.
    pub fn of(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Arc<Served>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(cluster)?.get(kind).cloned()
    }

    /// An instance of a kind is marked as ours. `None`: nothing serves it any more.
    pub fn mark(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Marking<'_>> {
        // Held until it is counted: whoever ends what serves it sees it then.
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(cluster).is_some_and(|own| own.contains_key(kind)).then(|| {
            let key = (cluster.clone(), kind.clone());
            *lock(&self.marking).entry(key.clone()).or_default() += 1;
            Marking { serving: self, key }
        })
    }

    /// Whether an instance of a kind is being marked as ours.
    pub fn is_marking(&self, cluster: &ClusterName, kind: &GroupKind) -> bool {
        lock(&self.marking).contains_key(&(cluster.clone(), kind.clone()))
    }

    /// From now on this serves a kind. Whether that is another than before.
    pub fn set(&self, cluster: &ClusterName, kind: GroupKind, served: Arc<Served>) -> bool {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let same = |held: &Arc<Served>| {
            Arc::ptr_eq(&held.compiled, &served.compiled)
                && held.number == served.number
                && held.uid == served.uid
                && held.definition == served.definition
        };
        let own = all.entry(cluster.clone()).or_default();
        if own.get(&kind).is_some_and(same) {
            return false;
        }
        own.insert(kind, served);
        true
    }

    /// An RGD serves nothing any more in the cluster of its key. Returns the kinds that it served.
    pub fn end(&self, definition: &DefinitionKey) -> Vec<GroupKind> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = all.get_mut(&definition.cluster) else { return Vec::new() };
        let ended = own.extract_if(|_, served| served.definition == *definition).map(|(kind, _)| kind).collect();
        if own.is_empty() {
            all.remove(&definition.cluster);
        }
        ended
    }

    /// The kinds that an RGD serves in the cluster of its key.
    pub fn kinds_of(&self, definition: &DefinitionKey) -> Vec<GroupKind> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let own = all.get(&definition.cluster).into_iter().flatten();
        own.filter(|(_, served)| served.definition == *definition).map(|(kind, _)| kind.clone()).collect()
    }
}
