//! `Clusters`: what is known of clusters beside their connections, which are the fleet's: whether they are configured, what
//! the platform says of them, and how they serve kinds.

pub(crate) mod departures;
pub(crate) mod plurals;
pub(crate) mod policies;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use broker_api::ClusterName;
use broker_core::naming::consumer_hash;
use runtime_cel::{schema::Schema, shared::Shared};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    hashed::HashMap,
    kind::{SchemaDigest, SchemaNews},
    source::Provenance,
};

use self::{departures::Departures, plurals::Plurals, policies::Policies};

/// What is known of clusters.
#[derive(Default)]
pub struct Clusters {
    /// Which have left the configuration.
    pub(crate) departures: Departures,
    /// Under which plurals consumers and providers serve kinds.
    pub(crate) plurals: Plurals,
    /// What the platform says of them.
    pub(crate) policies: Policies,
    /// What the engaged ones' kubeconfigs were read from.
    provenance: Mutex<HashMap<ClusterName, Provenance>>,
    /// Engaged consumers by the hash that leads their copies' names.
    consumers: RwLock<HashMap<String, ClusterName>>,
    schemas: RwLock<HashMap<ClusterName, HashMap<Kind, Arc<Schema>>>>,
    /// Each of them once, however many clusters and kinds have it.
    compiled: Shared<SchemaDigest, Schema>,
}

impl Clusters {
    /// Notes what the kubeconfig of a cluster was read from.
    pub(crate) fn read_from(&self, cluster: &ClusterName, from: &Provenance) {
        let mut provenance = self.provenance.lock().unwrap_or_else(PoisonError::into_inner);
        provenance.insert(cluster.clone(), from.clone());
    }

    /// What the kubeconfig of an engaged cluster was read from.
    pub(crate) fn provenance(&self, cluster: &ClusterName) -> Option<Provenance> {
        self.provenance.lock().unwrap_or_else(PoisonError::into_inner).get(cluster).cloned()
    }

    /// The engaged consumer whose copies carry this prefix.
    pub(crate) fn consumer_by_hash(&self, hash: &str) -> Option<ClusterName> {
        self.consumers.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    /// A consumer is engaged, or leaves.
    pub(crate) fn note_consumer(&self, name: &ClusterName, engaged: bool) {
        let hash = consumer_hash(name);
        let held = self.consumers.read().unwrap_or_else(PoisonError::into_inner).contains_key(&hash);
        if held == engaged {
            return;
        }
        let mut consumers = self.consumers.write().unwrap_or_else(PoisonError::into_inner);
        if engaged {
            consumers.insert(hash, name.clone());
        } else {
            consumers.remove(&hash);
        }
    }

    /// What a cluster can hold of a kind.
    pub(crate) fn schema(&self, cluster: &ClusterName, kind: &Kind) -> Arc<Schema> {
        let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
        let held = schemas.get(cluster).and_then(|kinds| kinds.get(kind));
        held.cloned().unwrap_or_else(|| Arc::new(Schema::any()))
    }

    /// Takes a new schema, or that there is none.
    pub(crate) fn set_schema(&self, cluster: &ClusterName, gvk: &GroupVersionKind, news: SchemaNews<'_>) {
        let schema = match news {
            SchemaNews::Same => return,
            SchemaNews::Unpublished | SchemaNews::Unasked | SchemaNews::Unread => None,
            SchemaNews::New(new) => Some(self.compiled.get_or_make(*new.digest(), || Schema::compile(new.json()))),
        };
        let kind = Kind::from(gvk);
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        match schema {
            Some(schema) => drop(schemas.entry(cluster.clone()).or_default().insert(kind, schema)),
            None => drop(schemas.get_mut(cluster).and_then(|kinds| kinds.remove(&kind))),
        }
    }

    /// A cluster has left: nothing is remembered of what was seen of it. That a consumer has, is noted as it leaves:
    /// [`Self::note_consumer`].
    pub(crate) fn forget(&self, cluster: &ClusterName) {
        self.schemas.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.provenance.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.plurals.forget(cluster);
        self.policies.forget(cluster);
    }
}
