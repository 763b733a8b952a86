//! Under which plural each cluster serves a kind, as it last said.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use broker_api::{ClusterName, Role};
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::HashMap;

#[derive(Debug, Default)]
struct Inner {
    said: HashMap<ClusterName, HashMap<Kind, Arc<str>>>,
    /// How many clusters of a role say it, by kind: nearly always there is one plural.
    of_kind: HashMap<Role, HashMap<Kind, BTreeMap<Arc<str>, usize>>>,
}

/// The plurals that clusters have said.
#[derive(Debug, Default)]
pub(crate) struct Plurals(RwLock<Inner>);

impl Plurals {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cluster has said under which plural it serves a kind.
    pub(crate) fn set(&self, cluster: &ClusterName, kind: &Kind, plural: &str) {
        let mut inner = self.write();
        let plural: Arc<str> = plural.into();
        let said = inner.said.entry(cluster.clone()).or_default();
        let before = said.insert(kind.clone(), Arc::clone(&plural));
        *inner
            .of_kind
            .entry(cluster.role())
            .or_default()
            .entry(kind.clone())
            .or_default()
            .entry(plural)
            .or_default() += 1;
        if let Some(before) = before {
            inner.unsay(cluster.role(), kind, &before);
        }
    }

    /// A cluster has left.
    pub(crate) fn forget(&self, cluster: &ClusterName) {
        let mut inner = self.write();
        for (kind, plural) in inner.said.remove(cluster).unwrap_or_default() {
            inner.unsay(cluster.role(), &kind, &plural);
        }
    }

    /// What a cluster calls a kind.
    pub(crate) fn said(&self, cluster: &ClusterName, kind: &Kind) -> Option<Arc<str>> {
        self.read().said.get(cluster)?.get(kind).cloned()
    }

    /// What providers call a kind, each plural once.
    pub(crate) fn of(&self, kind: &Kind) -> Vec<Arc<str>> {
        let inner = self.read();
        let of_kind = inner.of_kind.get(&Role::Provider).and_then(|kinds| kinds.get(kind));
        of_kind.into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// Whether any cluster calls a kind so.
    pub(crate) fn is_said(&self, kind: &Kind, plural: &str) -> bool {
        self.read().of_kind.values().any(|kinds| kinds.get(kind).is_some_and(|plurals| plurals.contains_key(plural)))
    }
}

impl Inner {
    /// One cluster of a role less says it.
    fn unsay(&mut self, role: Role, kind: &Kind, plural: &str) {
        let Some(kinds) = self.of_kind.get_mut(&role) else { return };
        let Some(plurals) = kinds.get_mut(kind) else { return };
        if let Some(count) = plurals.get_mut(plural) {
            *count -= 1;
            if *count == 0 {
                plurals.remove(plural);
            }
        }
        if plurals.is_empty() {
            kinds.remove(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_is_known_as_long_as_anybody_says_it() {
        let plurals = Plurals::default();
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let (one, two) = (ClusterName::provider("one"), ClusterName::provider("two"));
        let of = || plurals.of(&kind).iter().map(ToString::to_string).collect::<Vec<_>>();
        plurals.set(&one, &kind, "ks");
        plurals.set(&two, &kind, "ks");
        plurals.set(&two, &kind, "ks");
        assert_eq!(of(), ["ks"]);
        plurals.set(&two, &kind, "kays");
        assert_eq!((of(), plurals.said(&two, &kind).as_deref()), (vec!["kays".into(), "ks".into()], Some("kays")));
        plurals.forget(&two);
        assert_eq!((of(), plurals.said(&two, &kind)), (vec!["ks".to_owned()], None));
        plurals.forget(&one);
        plurals.forget(&one);
        assert!(of().is_empty() && plurals.read().said.is_empty());
        let homer = ClusterName::consumer("homer");
        plurals.set(&homer, &kind, "homers");
        assert!(of().is_empty() && plurals.is_said(&kind, "homers") && !plurals.is_said(&kind, "ks"));
        plurals.forget(&homer);
        assert!(!plurals.is_said(&kind, "homers") && plurals.read().of_kind.values().all(HashMap::is_empty));
    }
}
