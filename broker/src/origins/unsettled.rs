//! Providers of which something is not known that decisions may depend on, by kind. Where all is quiet there are none.

mod look;

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::HashMap;

/// Which providers decisions on origins of a kind look at whatever else they know of them.
#[derive(Debug, Default)]
pub struct Unsettled(RwLock<HashMap<Arc<Kind>, BTreeSet<ClusterName>>>);

impl Unsettled {
    /// A provider is about to be engaged: from its first moment on it is looked at.
    pub fn expect(&self, provider: &ClusterName, kind: &Arc<Kind>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(Arc::clone(kind)).or_default().insert(provider.clone());
    }

    /// Something has changed that it depends on whether a provider is settled. That is looked at while nobody else does:
    /// whoever looks last has seen the last change.
    pub fn look_at(&self, provider: &ClusterName, kind: &Arc<Kind>, is_settled: impl FnOnce() -> bool) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !is_settled() {
            all.entry(Arc::clone(kind)).or_default().insert(provider.clone());
        } else if let Some(providers) = all.get_mut(kind) {
            providers.remove(provider);
            if providers.is_empty() {
                all.remove(kind);
            }
        }
    }

    /// Those of a kind.
    pub fn of(&self, kind: &Kind) -> BTreeSet<ClusterName> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(kind).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_settled_is_not_among_them() {
        let unsettled = Unsettled::default();
        let kind = |kind: &str| Arc::new(Kind { group: "g".into(), version: "v1".into(), kind: kind.into() });
        let (one, two) = (ClusterName::provider("one"), ClusterName::provider("two"));
        unsettled.look_at(&two, &kind("K"), || false);
        unsettled.look_at(&one, &kind("K"), || false);
        unsettled.look_at(&one, &kind("K"), || false);
        unsettled.look_at(&one, &kind("L"), || true);
        assert_eq!(unsettled.of(&kind("K")), [one.clone(), two.clone()].into());
        assert!(unsettled.of(&kind("L")).is_empty());
        unsettled.look_at(&one, &kind("K"), || true);
        assert_eq!(unsettled.of(&kind("K")), [two.clone()].into());
        unsettled.look_at(&two, &kind("K"), || true);
        assert!(unsettled.0.read().unwrap().is_empty());
    }
}
