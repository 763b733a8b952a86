//! RGDs: each is compiled, recorded as a revision, made a CRD, and served.

pub mod key;
pub mod listen;
pub mod machine;
pub mod observe;
pub mod record;
pub mod revisions;
pub mod serve;

use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_engine::records::Records;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    lock::lock,
};

pub use self::key::DefinitionKey;
use self::record::Record;

/// RGDs, those of them to look at, and what is remembered of them.
#[derive(Default)]
pub struct Definitions {
    records: Records<DefinitionKey, Record>,
    /// RGDs by the names of their CRDs.
    crds: Mutex<HashMap<Arc<str>, HashSet<DefinitionKey>>>,
}

impl Deref for Definitions {
    type Target = Records<DefinitionKey, Record>;

    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

impl Definitions {
    /// All RGDs of which anything is remembered.
    pub fn known(&self) -> Vec<DefinitionKey> {
        self.keys(|_| true)
    }

    /// Looks at all that are known.
    pub fn enqueue_all(&self) {
        for key in self.known() {
            self.enqueue(key);
        }
    }

    /// An RGD is no more.
    pub fn forget(&self, key: &DefinitionKey) {
        let record = self.records.forget(key);
        let crd = record.and_then(|record| lock(&record).crd.clone());
        if let Some(crd) = crd {
            self.unname(key, &crd);
        }
    }

    /// A kind is served in another way: those that use it are compiled again.
    pub fn kind_changed(&self, cluster: &ClusterName, kind: &Kind) {
        for (key, record) in self.all().into_iter().filter(|(key, _)| key.cluster == *cluster) {
            if lock(&record).forget_kind(kind) {
                self.enqueue(key);
            }
        }
    }

    /// Forgets what could not be told for want of what some cluster had not told: that may be otherwise.
    pub fn forget_pending(&self) {
        for (_, record) in self.all() {
            lock(&record).forget_pending();
        }
    }

    /// An RGD's CRD has this name.
    pub fn name(&self, key: &DefinitionKey, before: Option<&Arc<str>>, crd: &Arc<str>) {
        if let Some(before) = before {
            self.unname(key, before);
        }
        lock(&self.crds).entry(Arc::clone(crd)).or_default().insert(key.clone());
    }

    fn unname(&self, key: &DefinitionKey, crd: &Arc<str>) {
        let mut crds = lock(&self.crds);
        if let Some(keys) = crds.get_mut(crd) {
            keys.remove(key);
            if keys.is_empty() {
                crds.remove(crd);
            }
        }
    }

    /// The RGDs whose CRD has this name.
    pub fn of_crd(&self, crd: &str) -> Vec<DefinitionKey> {
        lock(&self.crds).get(crd).into_iter().flatten().cloned().collect()
    }
}
