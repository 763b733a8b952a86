//! `ResourceGraphDefinition`: a kind that people define, and the objects that each of its instances becomes.

use std::collections::BTreeMap;

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    keys,
    resource::Resource,
    wire::{FreeObject, free_object_schema, names_schema, or_default},
};
use crate::condition::conditions_schema;

/// A kind, and the objects that each of its instances becomes.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "kro.run",
    version = "v1alpha1",
    kind = "ResourceGraphDefinition",
    plural = "resourcegraphdefinitions",
    shortname = "rgd",
    status = "ResourceGraphDefinitionStatus",
    derive = "PartialEq",
    doc = "Defines a kind, and the objects that each of its instances becomes.",
    printcolumn(name = "APIVERSION", type_ = "string", json_path = ".spec.schema.apiVersion"),
    printcolumn(name = "KIND", type_ = "string", json_path = ".spec.schema.kind"),
    printcolumn(name = "STATE", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "READY", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "TOPOLOGICALORDER", type_ = "string", json_path = ".status.topologicalOrder", priority = 1),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ResourceGraphDefinitionSpec {
    /// The kind that is generated.
    pub schema: GeneratedSchema,
    /// The objects that each instance becomes, or that they read. May be empty.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
}

/// The kind that is generated.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedSchema {
    /// Its name, in UpperCamelCase, such as `WebApp`.
    #[schemars(regex(pattern = r"^[A-Z][a-zA-Z0-9]{0,62}$"))]
    #[x_kube(validation = ("self == oldSelf", "kind is immutable"))]
    pub kind: String,
    /// Its version alone, such as `v1alpha1`.
    #[schemars(regex(pattern = r"^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$"))]
    #[x_kube(validation = ("self == oldSelf", "apiVersion is immutable"))]
    pub api_version: String,
    /// Its API group. Defaults to `kro.run`.
    #[serde(default = "default_group", skip_serializing_if = "String::is_empty")]
    #[x_kube(validation = ("self == oldSelf", "group is immutable"))]
    pub group: String,
    /// Whether instances are in namespaces. Defaults to `Namespaced`.
    #[serde(default)]
    #[x_kube(validation = ("self == oldSelf", "scope is immutable"))]
    pub scope: GeneratedScope,
    /// The fields of `spec`, in SimpleSchema: `name: string | required=true`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "FreeObject::is_empty")]
    #[schemars(schema_with = "free_object_schema")]
    pub spec: FreeObject,
    /// Types that `spec` and other types use, in SimpleSchema.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "FreeObject::is_empty")]
    #[schemars(schema_with = "free_object_schema")]
    pub types: FreeObject,
    /// The fields of `status`, each an expression: `endpoint: ${service.spec.clusterIP}`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "FreeObject::is_empty")]
    #[schemars(schema_with = "free_object_schema")]
    pub status: FreeObject,
    /// Columns of the generated CRD, in place of the default ones.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub additional_printer_columns: Vec<CustomResourceColumnDefinition>,
    /// Short names of the generated kind.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "names_schema")]
    pub short_names: Vec<String>,
    /// Categories that the generated kind is in.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "names_schema")]
    pub categories: Vec<String>,
    /// Labels and annotations of the generated CRD.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "CrdMetadata::is_empty")]
    pub metadata: CrdMetadata,
}

fn default_group() -> String {
    keys::GROUP.to_owned()
}

impl GeneratedSchema {
    /// The API group, by default [`keys::GROUP`].
    pub fn group(&self) -> &str {
        if self.group.is_empty() { keys::GROUP } else { &self.group }
    }
}

/// Whether the objects of a kind are in namespaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GeneratedScope {
    /// They are.
    #[default]
    Namespaced,
    /// They are not.
    Cluster,
}

impl GeneratedScope {
    /// As in a CRD.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

/// Labels and annotations of a generated CRD.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrdMetadata {
    /// Labels, beside our own.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, beside our own.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl CrdMetadata {
    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

/// How a ResourceGraphDefinition does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceGraphDefinitionStatus {
    /// `Active` when its instances are served, else `Inactive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Ids of its resources, in the order in which they are made.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub topological_order: Vec<String>,
    /// `GraphRevisionsResolved`, `GraphAccepted`, `KindReady`, `ControllerReady`; `Ready` when all of them are True.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Which resources depend on which. Only those that depend on others.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceInformation>,
    /// Number of the newest GraphRevision that was ever issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_issued_revision: Option<i64>,
}

/// What a resource depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceInformation {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// Resources that it uses.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
}

/// A resource that another one uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Its id.
    #[serde(default)]
    pub id: String,
}
