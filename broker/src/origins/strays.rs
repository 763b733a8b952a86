//! Copies at providers that no known origin accounts for: their consumer is away, or they wait to be deleted. They take
//! up room all the same.

use std::sync::Arc;

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    object::ObjectKey,
};

/// By provider and kind. Changed under the lock of the records, so that each copy counts once: here or for its origin.
#[derive(Debug, Default)]
pub struct Strays {
    copies: HashMap<ClusterName, HashMap<Arc<Kind>, HashSet<ObjectKey>>>,
    /// Whose copies of which kind have all been seen.
    known: HashMap<ClusterName, HashSet<Arc<Kind>>>,
}

impl Strays {
    /// Notes whether a copy is one. Returns whether it was one until now.
    pub fn set(&mut self, provider: &ClusterName, kind: &Arc<Kind>, copy: &ObjectKey, stray: bool) -> bool {
        if stray {
            let kinds = self.copies.entry(provider.clone()).or_default();
            kinds.entry(Arc::clone(kind)).or_default().insert(copy.clone());
            return false;
        }
        let Some(kinds) = self.copies.get_mut(provider) else { return false };
        let Some(copies) = kinds.get_mut(kind) else { return false };
        let was = copies.remove(copy);
        if copies.is_empty() {
            kinds.remove(kind);
        }
        was
    }

    /// How many there are, but for this one.
    pub fn count(&self, provider: &ClusterName, kind: &Kind, but: impl FnOnce() -> ObjectKey) -> u64 {
        let Some(copies) = self.copies.get(provider).and_then(|kinds| kinds.get(kind)) else { return 0 };
        (copies.len() - usize::from(copies.contains(&but()))) as u64
    }

    /// How many there are.
    pub fn all(&self, provider: &ClusterName, kind: &Kind) -> u64 {
        self.copies.get(provider).and_then(|kinds| kinds.get(kind)).map_or(0, HashSet::len) as u64
    }

    /// All copies of a kind at a provider have been seen: those that are not there went while it was not served. Returns whether
    /// there were such.
    pub fn set_known(
        &mut self,
        provider: &ClusterName,
        kind: &Arc<Kind>,
        is_there: impl Fn(&ObjectKey) -> bool,
    ) -> bool {
        self.known.entry(provider.clone()).or_default().insert(Arc::clone(kind));
        let before = self.all(provider, kind);
        if let Some(kinds) = self.copies.get_mut(provider)
            && let Some(copies) = kinds.get_mut(kind)
        {
            copies.retain(is_there);
            if copies.is_empty() {
                kinds.remove(kind);
            }
        }
        self.all(provider, kind) < before
    }

    /// Whether all copies of a kind at a provider have been seen.
    pub fn is_known(&self, provider: &ClusterName, kind: &Kind) -> bool {
        self.known.get(provider).is_some_and(|kinds| kinds.contains(kind))
    }

    /// The provider has left: nothing is known of what it holds.
    pub fn forget(&mut self, provider: &ClusterName) {
        self.copies.remove(provider);
        self.known.remove(provider);
    }
}

#[cfg(test)]
mod tests {
    use broker_core::{
        acceptance::AcceptId,
        decision::{Decision, State},
        snapshot::OriginKey,
    };

    use super::*;
    use crate::origins::{
        key::copy_key,
        records::{Records, bounds::Bounds},
    };

    const ONE: Bounds<'static> = Bounds::ONE_MOVE;

    fn key(name: &str) -> OriginKey {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let cluster = ClusterName::consumer("homer");
        OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: name.into() }
    }

    fn at(provider: &str) -> AcceptId {
        AcceptId { provider: ClusterName::provider(provider), namespace: "n".into(), name: "a".into() }
    }

    fn held(provider: &str) -> Decision {
        Decision {
            counted: Some(at(provider)),
            provider: Some(ClusterName::provider(provider)),
            ..Decision::state(State::Served)
        }
    }

    #[test]
    fn a_copy_takes_room_once_whoever_accounts_for_it() {
        let records = Records::default();
        let (one, kind) = (ClusterName::provider("one"), key("a").gvk);
        let (mine, other) = (key("a"), key("b"));
        let room = |capacity| records.has_room(&at("one"), capacity, &other);
        let seen = |there| records.copy_moved(&one, &kind, &copy_key(&mine), std::slice::from_ref(&mine), || there);
        assert_eq!(room(1), None, "nobody knows what is there");
        seen(true);
        assert!(!records.copies_known(&one, &kind, |copy| *copy == copy_key(&mine)));
        // Its origin is not known: it is held all the same; to itself it is no obstacle.
        assert_eq!((room(1), room(2)), (Some(false), Some(true)));
        assert_eq!(records.has_room(&at("one"), 1, &mine), Some(true));
        let full = Bounds { capacity: Some(1), ..ONE };
        assert!(records.absorb(&other, &Decision { begins: true, ..held("one") }, full).is_none());

        let holds = Bounds { holds: &|provider, _| *provider == ClusterName::provider("one"), ..ONE };
        records.absorb(&mine, &held("one"), holds).unwrap();
        assert_eq!((room(1), room(2), records.strays(&one, &kind)), (Some(false), Some(true), 0));
        assert!(!seen(true), "it counts for its origin");
        assert_eq!(records.strays(&one, &kind), 0);

        // The origin goes elsewhere; its old copy is there until it is gone.
        records.absorb(&mine, &held("two"), holds).unwrap();
        assert_eq!((room(1), records.strays(&one, &kind)), (Some(false), 1));
        assert!(seen(false), "there is room now");
        assert_eq!(room(1), Some(true));
        assert!(!seen(false));

        // A copy that is just being made counts for its origin from the decision on.
        records.absorb(&mine, &held("one"), ONE).unwrap();
        assert_eq!(room(1), Some(false));
        seen(true);
        assert_eq!((room(1), room(2)), (Some(false), Some(true)));
        // Its consumer is taken out of the configuration: the copy stays.
        records.absorb(&mine, &Decision::state(State::Gone), holds).unwrap();
        assert_eq!((room(1), room(2)), (Some(false), Some(true)));
        // The kind was not served meanwhile, and is: what is not there now went without a word.
        assert!(!records.copies_known(&one, &kind, |_| true));
        assert_eq!(room(1), Some(false));
        assert!(records.copies_known(&one, &kind, |_| false), "there is room now");
        assert_eq!((room(1), records.strays(&one, &kind)), (Some(true), 0));
        records.forget_copies(&one);
        assert_eq!(room(1), None);
    }
}
