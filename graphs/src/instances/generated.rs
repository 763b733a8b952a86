//! `Generated`: the kinds that CRDs of ours define, whether or not an RGD serves them now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use broker_api::{ClusterName, graphs::keys};
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::HashMap;
use serde_json::Value;

/// The kind that a CRD defines which was made for an RGD, whether or not it is served. A CRD may bear our label because it is a
/// child of an instance.
pub fn defined_kind(crd: &Value) -> Option<GroupKind> {
    let labels = &crd["metadata"]["labels"];
    if labels[keys::RGD_NAME].is_null() || !labels[keys::APPLYSET_PART_OF].is_null() {
        return None;
    }
    let text = |value: &Value| Some(value.as_str()?.to_owned());
    Some(GroupKind { kind: text(&crd["spec"]["names"]["kind"])?, group: text(&crd["spec"]["group"])? })
}

/// The same in the version that is stored, once it is served.
pub fn kind_of(crd: &Value) -> Option<Kind> {
    let GroupKind { kind, group } = defined_kind(crd)?;
    let conditions = crd["status"]["conditions"].as_array()?;
    let established = |entry: &Value| entry["type"] == "Established" && entry["status"] == "True";
    conditions.iter().find(|entry| established(entry))?;
    let versions = crd["spec"]["versions"].as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true && version["served"] == true);
    let version = stored.or_else(|| versions.iter().find(|version| version["served"] == true))?;
    Some(Kind { group, version: version["name"].as_str()?.to_owned(), kind })
}

/// The same without its version.
pub fn group_kind(kind: &Kind) -> GroupKind {
    GroupKind { kind: kind.kind.clone(), group: kind.group.clone() }
}

#[derive(Default)]
struct All {
    by_crd: HashMap<(ClusterName, Arc<str>), Kind>,
    by_kind: HashMap<(ClusterName, GroupKind), (Kind, Arc<str>)>,
}

/// See the module.
#[derive(Default)]
pub struct Generated {
    all: RwLock<All>,
    turn: Mutex<()>,
}

impl Generated {
    /// Held by whoever looks at a CRD and says what it defines, so that nobody says what another has seen before.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A CRD defines this kind now, or none.
    pub fn set(&self, cluster: &ClusterName, crd: &Arc<str>, kind: Option<Kind>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let key = (cluster.clone(), Arc::clone(crd));
        if let Some(before) = all.by_crd.remove(&key) {
            all.by_kind.remove(&(cluster.clone(), group_kind(&before)));
        }
        if let Some(kind) = kind {
            all.by_kind.insert((cluster.clone(), group_kind(&kind)), (kind.clone(), Arc::clone(crd)));
            all.by_crd.insert(key, kind);
        }
    }

    /// The kind that a CRD of this name defines.
    pub fn kind(&self, cluster: &ClusterName, crd: &str) -> Option<Kind> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.by_crd.get(&(cluster.clone(), Arc::from(crd))).cloned()
    }

    /// In which version instances of a kind are read.
    pub fn version(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Kind> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.by_kind.get(&(cluster.clone(), kind.clone())).map(|(kind, _)| kind.clone())
    }

    /// Name of the CRD that defines a kind.
    pub fn crd(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Arc<str>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.by_kind.get(&(cluster.clone(), kind.clone())).map(|(_, crd)| Arc::clone(crd))
    }
}
