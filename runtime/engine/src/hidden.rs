//! `Hidden`: objects that a write may have made of which no answer came, and that nobody has seen.
//!
//! The watch tells of them, but it may be silent for as long as it takes to notice that a connection is broken. Whoever took
//! what it does not show for absent meanwhile would let go of something while a part of it is left. To make it again is no
//! danger: what is there then is refused.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::{cluster::Cluster, fleet::Fleet, hashed::HashMap, lock::lock, object::ObjectKey, watch::WatchSpec};
use tokio::time::Instant;

/// An object that may have been made.
#[derive(Clone)]
pub(crate) struct HiddenObject {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) spec: Arc<WatchSpec>,
    pub(crate) object: ObjectKey,
    /// When the last write that may have made it was given up.
    pub(crate) since: Instant,
}

impl HiddenObject {
    fn is_the_same(&self, other: &Self) -> bool {
        self.cluster.name() == other.cluster.name() && self.spec == other.spec && self.object == other.object
    }

    /// Whether it is seen, or nobody can tell any more: what is known of a cluster that has left counts no more.
    fn is_over(&self, fleet: &Fleet) -> bool {
        let engaged = fleet.cluster(self.cluster.name());
        let index = engaged.filter(|now| Arc::ptr_eq(now, &self.cluster)).and_then(|now| now.index(&self.spec));
        index.is_none_or(|index| index.get(&self.object).found().is_some())
    }
}

/// See the module: by the keys for which they were to be made.
#[derive(Default)]
pub(crate) struct Hidden {
    of: Mutex<HashMap<String, Vec<HiddenObject>>>,
    /// Of how many keys there are any: nearly always none, and then nobody waits for the lock.
    count: AtomicUsize,
}

impl Hidden {
    fn change<T>(&self, change: impl FnOnce(&mut HashMap<String, Vec<HiddenObject>>) -> T) -> T {
        let mut of = lock(&self.of);
        let changed = change(&mut of);
        of.retain(|_, held| !held.is_empty());
        self.count.store(of.len(), Ordering::Release);
        changed
    }

    /// Notes one. Returns whether it is new.
    pub(crate) fn add(&self, key: String, one: HiddenObject) -> bool {
        self.change(|of| {
            let held = of.entry(key).or_default();
            let known = held.iter_mut().find(|held| held.is_the_same(&one));
            if let Some(known) = known {
                known.since = one.since;
                return false;
            }
            held.push(one);
            true
        })
    }

    /// Where something that was to be made for a key may be, and of which kind it is.
    pub(crate) fn of(&self, key: impl FnOnce() -> String, fleet: &Fleet) -> Vec<(ClusterName, Kind)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let of = lock(&self.of);
        let held = of.get(&key()).into_iter().flatten().filter(|one| !one.is_over(fleet));
        held.map(|one| (one.cluster.name().clone(), Kind::from(&one.spec.gvk))).collect()
    }

    /// Since when nobody knows of one; `None`: somebody does.
    pub(crate) fn since(&self, key: &str, one: &HiddenObject, fleet: &Fleet) -> Option<Instant> {
        let of = lock(&self.of);
        let held = of.get(key)?.iter().find(|held| held.is_the_same(one))?;
        (!held.is_over(fleet)).then_some(held.since)
    }

    /// Somebody knows.
    pub(crate) fn remove(&self, key: &str, one: &HiddenObject) {
        self.change(|of| {
            if let Some(held) = of.get_mut(key) {
                held.retain(|held| !held.is_the_same(one));
            }
        });
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}
