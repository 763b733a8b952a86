//! The kind, as `config/crd.yaml` has it. EDIT: yours.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Clone, Debug, Deserialize, Serialize, CustomResource)]
#[kube(group = "storage.example.org", version = "v1alpha1", kind = "Bucket", namespaced)]
#[kube(status = "BucketStatus", schema = "disabled")]
pub struct BucketSpec {
    /// Where it is to be.
    pub region: String,
    /// Its size in GiB.
    pub size: u32,
}

/// What is said of it. The broker brings all of it to the consumer, and knows these three fields.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BucketStatus {
    /// How far it is, in one word: `Provisioning`, `Available`, `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Why.
    pub conditions: Vec<Condition>,
    /// What belongs to it and is brought to its user, by a name of ours.
    pub related_resources: BTreeMap<String, RelatedResource>,
}

/// An object of the Bucket's own namespace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RelatedResource {
    /// What it is.
    pub gvk: Gvk,
    /// Its name: the Bucket's, and something behind it.
    pub name: String,
}

/// A kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Gvk {
    /// `core` for Kubernetes' own first ones.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Secret`.
    pub kind: String,
}
