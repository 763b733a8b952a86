//! `AcceptAPI`: a provider says which objects it serves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::conditions_schema;

/// Which objects the provider accepts, and how many.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "AcceptAPI",
    root = "AcceptApi",
    plural = "acceptapis",
    shortname = "aapi",
    category = "resource-broker",
    namespaced,
    status = "AcceptApiStatus",
    derive = "PartialEq",
    doc = "Which objects a provider accepts. Counts only in provider clusters.",
    printcolumn(name = "Resource", type_ = "string", json_path = ".spec.gvr.resource"),
    printcolumn(name = "Group", type_ = "string", json_path = ".spec.gvr.group", priority = 1),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Placed", type_ = "integer", json_path = ".status.placed"),
    printcolumn(name = "Capacity", type_ = "integer", json_path = ".spec.capacity"),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight", priority = 1),
    printcolumn(name = "Cordoned", type_ = "boolean", json_path = ".spec.cordoned")
)]
#[serde(rename_all = "camelCase")]
pub struct AcceptApiSpec {
    /// The resource that is accepted; all three parts must be equal.
    pub gvr: Gvr,
    /// Conditions on the object's fields; all of them must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub filters: Vec<Filter>,
    /// CEL over `self`, the whole object; must be true. At most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub expression: Option<String>,
    /// Higher is preferred. Defaults to 0.
    #[serde(default)]
    pub priority: i64,
    /// Share of objects among AcceptAPIs of equal priority. Defaults to 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: u32,
    /// How many objects this AcceptAPI holds at the most. Unlimited when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub capacity: Option<u64>,
    /// How many objects of one consumer cluster this AcceptAPI holds at the most. Unlimited when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub capacity_per_consumer: Option<u64>,
    /// Take no new objects; those here stay.
    #[serde(default)]
    pub cordoned: bool,
    /// After so many seconds without contact to the provider its objects are placed anew. Never when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub unreachable_after_seconds: Option<u64>,
    /// Narrows the broker-wide list of related kinds, for example `[Secret]`. The whole list when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        inner(length(max = 380), regex(pattern = r"^[A-Z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub related_kinds: Vec<String>,
    /// Which namespaces of consumers objects are taken from: the copy is made in the namespace of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NamespaceRules")]
    pub namespaces: Option<NamespaceRules>,
    /// Names that related resources may have in the consumer beside those that are the object's own name or begin with
    /// it and a dash or dot; `*` stands for any characters, for example `pg-*-app`. None when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        inner(length(max = 253), regex(pattern = r"^[-a-z0-9.*]+$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub related_names: Vec<String>,
}

/// Patterns of namespaces' names. `*` stands for any characters, or none; all else for itself. The whole name counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespaceRules {
    /// Namespaces that objects are taken from. All that are not denied when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63), regex(pattern = r"^[-a-z0-9*]+$")))]
    pub allow: Vec<String>,
    /// Namespaces that no objects are taken from, whatever `allow` says. Defaults to `kube-*`; a list that is given takes
    /// the place of this default, so name `kube-*` in it unless objects of system namespaces are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Vec<String>",
        length(max = 64),
        inner(length(min = 1, max = 63), regex(pattern = r"^[-a-z0-9*]+$"))
    )]
    pub deny: Option<Vec<String>>,
}

fn one() -> u32 {
    1
}

/// Group, version and plural resource name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Gvr {
    /// API group; empty for the core group.
    #[serde(default)]
    #[schemars(
        length(max = 253),
        regex(pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$")
    )]
    pub group: String,
    /// API version, for example `v1alpha1`.
    #[schemars(length(max = 63), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub version: String,
    /// Plural resource name, for example `certificates`.
    #[schemars(length(max = 63), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub resource: String,
}

/// A condition on one field. Every check that is set must hold.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "(has(self.valueIn) && size(self.valueIn) > 0) || (has(self.boundary) && (has(self.boundary.min) || has(self.boundary.max))) || (has(self.suffix) && size(self.suffix) > 0) || (has(self.prefix) && size(self.prefix) > 0) || (has(self.pattern) && size(self.pattern) > 0)",
    "a filter needs something to check: valueIn, boundary.min, boundary.max, suffix, prefix or pattern"
))]
pub struct Filter {
    /// Dotted path under `spec`, without `spec.`; list elements by index, a dot inside a key as `\.`.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = ("!self.startsWith('spec.')", "key must not start with `spec.`: it is a path under spec already"))]
    pub key: String,
    /// The value, as text, is one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 1024)))]
    pub value_in: Vec<String>,
    /// The value lies between these bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
    /// The value, as text, ends so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub suffix: Option<String>,
    /// The value, as text, starts so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub prefix: Option<String>,
    /// RE2 expression that the value, as text, matches somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = ("type(''.matches(self)) == bool", "pattern must be a valid RE2 expression"))]
    pub pattern: Option<String>,
    /// What happens when the object does not set the field: with `Accept` the filter matches, with `Refuse` it does
    /// not. Defaults to Refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Missing")]
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
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = (
    "!has(self.min) || !has(self.max) || type(self.min) != int || type(self.max) != int || int(self.min) <= int(self.max)",
    "min must not be greater than max"
))]
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
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bound".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-kubernetes-int-or-string": true,
            "description": "A whole number, or a decimal or Kubernetes quantity as text.",
            "maxLength": 64,
            // Kubernetes quantities (apimachinery, resource.Quantity); a number needs no pattern.
            "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
        })
    }
}

/// What the broker says of an AcceptAPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptApiStatus {
    /// `Ready`: in use, or why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Objects held now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<u64>,
    /// Generation that `conditions` speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
