//! Related copies in consumer clusters, by the uid of the origin that owns them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use broker_api::ClusterName;
use broker_fleet::{
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
pub struct Owned(Mutex<HashMap<String, HashSet<Place>>>);

impl Owned {
    /// A related copy names these owners now, and named those before.
    pub fn moved(&self, place: &Place, before: &[Owner], after: &[Owner]) {
        let mut owned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for owner in before {
            if let Some(places) = owned.get_mut(&owner.uid) {
                places.remove(place);
                if places.is_empty() {
                    owned.remove(&owner.uid);
                }
            }
        }
        for owner in after {
            owned.entry(owner.uid.clone()).or_default().insert(place.clone());
        }
    }

    /// A cluster has left.
    pub fn forget(&self, cluster: &ClusterName) {
        let mut owned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owned.retain(|_, places| {
            places.retain(|place| place.cluster != *cluster);
            !places.is_empty()
        });
    }

    /// The related copies of an owner.
    pub fn of(&self, uid: &str) -> Vec<Place> {
        let owned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owned.get(uid).into_iter().flatten().cloned().collect()
    }
}
