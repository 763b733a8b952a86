//! Related copies in consumer clusters, by the uid of the origin that owns them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use broker_api::ClusterName;
use runtime_fleet::{
    object::{Object, ObjectKey},
    watch::WatchSpec,
};
use std::sync::Arc;

/// Where a related copy is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Consumer cluster.
    pub cluster: ClusterName,
    /// The watch that sees it.
    pub spec: Arc<WatchSpec>,
    /// Namespace and name.
    pub key: ObjectKey,
}

/// An owner, as a related copy names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `v1`, or `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name; it is in the copy's namespace.
    pub name: String,
    /// uid.
    pub uid: String,
}

/// The owners that an object names.
pub fn owners(object: &Object) -> Vec<Owner> {
    let Ok(value) = object.value() else { return Vec::new() };
    let text = |owner: &serde_json::Value, field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    let owners = value["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners
        .map(|owner| Owner {
            api_version: text(owner, "apiVersion"),
            kind: text(owner, "kind"),
            name: text(owner, "name"),
            uid: text(owner, "uid"),
        })
        .collect()
}

/// All related copies, by owner.
#[derive(Debug, Default)]
pub struct Owned(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_owner: HashMap<Arc<str>, HashSet<Arc<Place>>>,
    /// The owners that each named last: the index may not hold what it said any more.
    owners: HashMap<Arc<Place>, Vec<Arc<str>>>,
}

impl Known {
    fn forget(&mut self, place: &Place) {
        let Some((place, owners)) = self.owners.remove_entry(place) else { return };
        for uid in owners {
            if let Some(places) = self.by_owner.get_mut(&uid) {
                places.remove(&place);
                if places.is_empty() {
                    self.by_owner.remove(&uid);
                }
            }
        }
    }
}

impl Owned {
    /// A related copy names these owners now.
    pub fn moved(&self, place: &Place, owners: &[Owner]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget(place);
        if owners.is_empty() {
            return;
        }
        let place = Arc::new(place.clone());
        let uids: Vec<Arc<str>> = owners.iter().map(|owner| owner.uid.as_str().into()).collect();
        for uid in &uids {
            known.by_owner.entry(Arc::clone(uid)).or_default().insert(Arc::clone(&place));
        }
        known.owners.insert(place, uids);
    }

    /// A cluster has left.
    pub fn forget(&self, cluster: &ClusterName) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owners.retain(|place, _| place.cluster != *cluster);
        known.by_owner.retain(|_, places| {
            places.retain(|place| place.cluster != *cluster);
            !places.is_empty()
        });
    }

    /// The related copies of an owner.
    pub fn of(&self, uid: &str) -> Vec<Place> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.by_owner.get(uid).into_iter().flatten().map(|place| Place::clone(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::GroupVersionKind;

    use super::*;

    #[test]
    fn a_related_copy_belongs_to_those_that_it_named_last() {
        let owned = Owned::default();
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "Secret")));
        let place = Place { cluster: ClusterName::consumer("c"), spec, key: ObjectKey::new("n", "s") };
        let named =
            |uid: &str| Owner { api_version: "v1".into(), kind: "K".into(), name: "k".into(), uid: uid.to_owned() };
        owned.moved(&place, &[named("a"), named("b")]);
        owned.moved(&place, &[named("b")]);
        assert_eq!((owned.of("a").len(), owned.of("b").len()), (0, 1));
        owned.moved(&place, &[]);
        assert!(owned.of("b").is_empty());
        owned.moved(&place, &[named("b")]);
        owned.forget(&place.cluster);
        assert!(owned.of("b").is_empty());
    }
}
