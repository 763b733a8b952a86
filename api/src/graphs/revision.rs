//! `GraphRevision`: an immutable snapshot of a ResourceGraphDefinition. Instances are served from these alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    rgd::{ResourceGraphDefinitionSpec, ResourceInformation},
    wire::or_default,
};
use crate::condition::conditions_schema;

/// A snapshot, and its number.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "internal.kro.run",
    version = "v1alpha1",
    kind = "GraphRevision",
    plural = "graphrevisions",
    shortname = "gr",
    status = "GraphRevisionStatus",
    derive = "PartialEq",
    selectable = ".spec.snapshot.name",
    doc = "An immutable snapshot of a ResourceGraphDefinition. Written by the controller.",
    printcolumn(name = "RGD", type_ = "string", json_path = ".spec.snapshot.name", priority = 1),
    printcolumn(name = "REVISION", type_ = "integer", json_path = ".spec.revision"),
    printcolumn(
        name = "HASH",
        type_ = "string",
        json_path = r".metadata.labels.kro\.run/graph-revision-hash",
        priority = 1
    ),
    printcolumn(name = "READY", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = ("self == oldSelf", "spec is immutable"))]
pub struct GraphRevisionSpec {
    /// Its number. The revisions of a ResourceGraphDefinition count upwards from 1.
    #[schemars(range(min = 1))]
    pub revision: i64,
    /// What it was taken of.
    pub snapshot: Snapshot,
}

/// A ResourceGraphDefinition at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// Its `metadata.generation`. For people.
    #[serde(default)]
    pub generation: i64,
    /// Its spec.
    pub spec: ResourceGraphDefinitionSpec,
}

/// How a GraphRevision does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphRevisionStatus {
    /// Ids of its resources, in the order in which they are made.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub topological_order: Vec<String>,
    /// `GraphVerified`: whether it compiles; `Ready` says the same.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Which resources depend on which. Only those that depend on others.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceInformation>,
}
