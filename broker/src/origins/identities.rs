//! Which providers may be one API server with a consumer: by the identities that API servers give.

use std::{
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use broker_api::ClusterName;
use runtime_fleet::hashed::HashMap;

#[derive(Debug, Default)]
struct Inner {
    given: HashMap<ClusterName, Option<String>>,
    /// The same the other way round. `None`: it has not been read, or may not be.
    providers: HashMap<Option<String>, BTreeSet<ClusterName>>,
}

/// The identities of engaged providers.
#[derive(Debug, Default)]
pub struct Identities(RwLock<Inner>);

impl Identities {
    /// A provider has come, gone or connected. What it gives is looked at while nobody else does; `None`: it is not
    /// engaged.
    pub fn look_at(&self, provider: &ClusterName, identity: impl FnOnce() -> Option<Option<String>>) {
        let mut inner = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let now = identity();
        let Inner { given, providers } = &mut *inner;
        if given.get(provider) == now.as_ref() {
            return;
        }
        if let Some(before) = given.remove(provider)
            && let Some(same) = providers.get_mut(&before)
        {
            same.remove(provider);
            if same.is_empty() {
                providers.remove(&before);
            }
        }
        if let Some(now) = now {
            providers.entry(now.clone()).or_default().insert(provider.clone());
            given.insert(provider.clone(), now);
        }
    }

    /// Providers that may be the API server with this identity. One is another API server only where both give their
    /// identity, and not the same one.
    pub fn may_be(&self, identity: Option<String>) -> BTreeSet<ClusterName> {
        let inner = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if identity.is_none() {
            return inner.given.keys().cloned().collect();
        }
        let found = [identity, None].map(|identity| inner.providers.get(&identity));
        found.into_iter().flatten().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_different_identities_are_two_servers() {
        let identities = Identities::default();
        let set = |name: &str, identity: Option<Option<&str>>| {
            let identity = identity.map(|identity| identity.map(str::to_owned));
            identities.look_at(&ClusterName::provider(name), || identity);
        };
        let same = |identity: Option<&str>| {
            let same = identities.may_be(identity.map(str::to_owned));
            same.iter().map(|name| name.name().to_owned()).collect::<Vec<_>>()
        };
        set("one", Some(None));
        set("two", Some(Some("x")));
        set("three", Some(Some("y")));
        assert_eq!(
            (same(Some("x")), same(Some("z"))),
            (vec!["one".to_owned(), "two".to_owned()], vec!["one".to_owned()])
        );
        assert_eq!(same(None), ["one", "three", "two"]);
        set("one", Some(Some("x")));
        set("two", Some(Some("y")));
        assert_eq!(
            (same(Some("x")), same(Some("y"))),
            (vec!["one".to_owned()], vec!["three".to_owned(), "two".to_owned()])
        );
        for name in ["one", "two", "three", "two"] {
            set(name, None);
        }
        assert!(same(None).is_empty() && identities.0.read().unwrap().providers.is_empty());
    }
}
