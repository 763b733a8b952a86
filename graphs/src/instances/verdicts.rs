//! `Verdicts`: of how many instances the status says ERROR. That is what a rollout goes by: it is there before a controller
//! starts, and stays what it is while something is written, or not known.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_fleet::{hashed::HashMap, lock::lock};

use super::key::InstanceKey;

type KindAt = (ClusterName, Arc<GroupKind>);

/// What is said of the instances of a kind in a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdict {
    /// So many were read.
    pub read: usize,
    /// So many of them say ERROR.
    pub errors: usize,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Verdicts(Mutex<HashMap<KindAt, Verdict>>);

impl Verdicts {
    /// Whether the status of an instance says ERROR; `None`: it is not read. Returns whether more, or fewer, say so by that.
    pub fn change(&self, key: &InstanceKey, before: Option<bool>, after: Option<bool>) -> bool {
        if before == after {
            return false;
        }
        let mut all = lock(&self.0);
        let mut entry = match all.entry((key.cluster.clone(), Arc::clone(&key.kind))) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => entry.insert_entry(Verdict::default()),
        };
        let Verdict { read, errors } = entry.get_mut();
        *read = (*read + usize::from(after.is_some())).saturating_sub(usize::from(before.is_some()));
        let fails = |said: Option<bool>| usize::from(said == Some(true));
        *errors = (*errors + fails(after)).saturating_sub(fails(before));
        if *read == 0 {
            entry.remove();
        }
        fails(before) != fails(after)
    }

    /// Of a kind.
    pub fn of(&self, cluster: &ClusterName, kind: &GroupKind) -> Verdict {
        let kind = (cluster.clone(), Arc::new(kind.clone()));
        lock(&self.0).get(&kind).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::object::ObjectKey;

    use super::*;

    #[test]
    fn what_is_said_is_counted_by_cluster_and_kind() {
        let kind = Arc::new(GroupKind { kind: "Note".into(), group: "g".into() });
        let key = |cluster: &str| InstanceKey {
            cluster: ClusterName::spoke(cluster),
            kind: Arc::clone(&kind),
            object: ObjectKey::new("n", "a"),
        };
        let (verdicts, [one, other]) = (Verdicts::default(), ["one", "other"].map(key));
        let of = |key: &InstanceKey| {
            let Verdict { read, errors } = verdicts.of(&key.cluster, &kind);
            (read, errors)
        };
        assert!(verdicts.change(&one, None, Some(true)));
        assert!(!verdicts.change(&one, Some(true), Some(true)));
        assert!(!verdicts.change(&one, None, Some(false)), "no more say so");
        assert!(!verdicts.change(&other, None, Some(false)));
        assert_eq!([of(&one), of(&other)], [(2, 1), (1, 0)]);
        assert!(verdicts.change(&one, Some(true), Some(false)));
        assert_eq!(of(&one), (2, 0));
        verdicts.change(&one, Some(false), None);
        verdicts.change(&one, Some(false), None);
        assert_eq!([of(&one), of(&other)], [(0, 0), (1, 0)]);
        assert_eq!(lock(&verdicts.0).len(), 1, "nothing is kept of what is gone");
    }
}
