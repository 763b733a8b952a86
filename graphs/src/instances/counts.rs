//! `Counts`: how many instances stand how, so that nobody has to look at each of them, or to wait for one that is decided on.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use graphs_core::{applyset::GroupKind, instance::State};
use runtime_fleet::{hashed::HashMap, lock::lock};

use super::InstanceKey;

type Kind = (ClusterName, Arc<GroupKind>);

/// How many instances of a kind in a cluster stand how, without those of which nothing is known.
#[derive(Debug, Default)]
pub struct Counts(Mutex<HashMap<Kind, BTreeMap<State, usize>>>);

impl Counts {
    /// An instance that stood so stands in another way.
    pub fn change(&self, key: &InstanceKey, before: State, after: State) {
        if before == after {
            return;
        }
        let kind = (key.cluster.clone(), Arc::clone(&key.kind));
        let mut all = lock(&self.0);
        let counts = all.entry(kind.clone()).or_default();
        if let Some(count) = counts.get_mut(&before) {
            *count = count.saturating_sub(1);
        }
        if after != State::Unknown {
            *counts.entry(after).or_default() += 1;
        }
        counts.retain(|_, count| *count > 0);
        if counts.is_empty() {
            all.remove(&kind);
        }
    }

    /// How many of a kind stand so.
    pub fn of(&self, cluster: &ClusterName, kind: &GroupKind, state: State) -> usize {
        let kind = (cluster.clone(), Arc::new(kind.clone()));
        lock(&self.0).get(&kind).and_then(|counts| counts.get(&state)).copied().unwrap_or_default()
    }

    /// Of how many of a kind is known how they stand.
    pub fn known(&self, cluster: &ClusterName, kind: &GroupKind) -> usize {
        let kind = (cluster.clone(), Arc::new(kind.clone()));
        lock(&self.0).get(&kind).map_or(0, |counts| counts.values().sum())
    }

    /// How many of all kinds stand how.
    pub fn all(&self) -> HashMap<State, usize> {
        let mut sums = HashMap::default();
        for (state, count) in lock(&self.0).values().flatten() {
            *sums.entry(*state).or_default() += count;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::object::ObjectKey;

    use super::*;

    #[test]
    fn what_changes_is_counted_by_cluster_and_kind() {
        let kind = Arc::new(GroupKind { kind: "Note".into(), group: "g".into() });
        let key = |cluster: &str| InstanceKey {
            cluster: ClusterName::spoke(cluster),
            kind: Arc::clone(&kind),
            object: ObjectKey::new("n", "a"),
        };
        let (counts, [one, other]) = (Counts::default(), ["one", "other"].map(key));
        counts.change(&one, State::Unknown, State::Error);
        counts.change(&one, State::Error, State::Error);
        counts.change(&other, State::Unknown, State::Error);
        counts.change(&other, State::Error, State::Active);
        assert_eq!([&one, &other].map(|key| counts.of(&key.cluster, &kind, State::Error)), [1, 0]);
        assert_eq!(counts.known(&one.cluster, &kind), 1);
        assert_eq!(counts.all(), HashMap::from_iter([(State::Error, 1), (State::Active, 1)]));
        counts.change(&one, State::Error, State::Unknown);
        counts.change(&other, State::Active, State::Unknown);
        assert!(lock(&counts.0).is_empty(), "nothing is kept of what is gone");
    }
}
