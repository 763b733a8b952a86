//! `AcceptAPI`: a provider says which objects it serves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which objects a provider accepts. Counts only in provider clusters.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "AcceptAPI",
    root = "AcceptApi",
    plural = "acceptapis",
    namespaced,
    status = "AcceptApiStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct AcceptApiSpec {
    /// The resource that is accepted; all three parts must be equal.
    pub gvr: Gvr,
    /// Conditions on the object's fields; all of them must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// CEL over `self`, the whole object; must be true. At most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Higher is preferred. Defaults to 0.
    #[serde(default)]
    pub priority: i64,
    /// Share of objects among AcceptAPIs of equal priority. Defaults to 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// How many objects this AcceptAPI holds at the most. Unlimited when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Take no new objects; those here stay.
    #[serde(default)]
    pub cordoned: bool,
    /// After so many seconds without contact to the provider its objects are placed anew. Never when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_after_seconds: Option<u64>,
    /// Narrows the broker-wide list of related kinds, for example `[Secret]`. The whole list when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_kinds: Vec<String>,
}

fn one() -> u32 {
    1
}

/// Group, version and plural resource name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Gvr {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version, for example `v1alpha1`.
    pub version: String,
    /// Plural resource name, for example `certificates`.
    pub resource: String,
}

/// A condition on one field. Every check that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Filter {
    /// Dotted path under `spec`, without `spec.`; list elements by index, a dot inside a key as `\.`.
    pub key: String,
    /// The value, as text, is one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_in: Vec<String>,
    /// The value lies between these bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
    /// The value, as text, ends so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
    /// The value, as text, starts so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// RE2 expression that the value, as text, matches somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What happens when the object does not set the field. Defaults to Refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// What a filter says of an object that does not set its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Missing {
    /// The filter matches.
    Accept,
    /// The filter does not match.
    Refuse,
}

/// Bounds, both included: integers, decimals or Kubernetes quantities (`8Gi`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundary {
    /// Smallest value that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Bound>,
    /// Largest value that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Bound>,
}

/// One bound, written as a number or as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// A whole number.
    Int(i64),
    /// A decimal or a Kubernetes quantity.
    Text(String),
}

impl JsonSchema for Bound {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bound".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "x-kubernetes-int-or-string": true })
    }
}

/// What the broker says of an AcceptAPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptApiStatus {
    /// `Ready`: in use, or why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Objects held now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<u64>,
    /// Generation that `conditions` speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
