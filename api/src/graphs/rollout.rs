//! `ResourceGraphRollout`: how a ResourceGraphDefinition gets to clusters, wave by wave.

use k8s_openapi::apimachinery::pkg::{
    apis::meta::v1::{Condition, LabelSelector, Time},
    util::intstr::IntOrString,
};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::wire::{or_default, selector_schema};
use crate::condition::conditions_schema;

/// Type of a condition: clusters are being brought to the target.
pub const PROGRESSING: &str = "Progressing";
/// Type of a condition: every cluster runs what it should.
pub const AVAILABLE: &str = "Available";
/// Type of a condition: some clusters have failed.
pub const DEGRADED: &str = "Degraded";

/// Which clusters get the ResourceGraphDefinition of the same name, in which order, and what happens when one fails.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "ResourceGraphRollout",
    plural = "resourcegraphrollouts",
    shortname = "rgro",
    category = "resource-broker",
    status = "ResourceGraphRolloutStatus",
    derive = "PartialEq",
    doc = "How the ResourceGraphDefinition of the same name gets to clusters. Without one, all clusters get it at once.",
    printcolumn(name = "Target", type_ = "integer", json_path = ".status.targetRevision"),
    printcolumn(name = "Wave", type_ = "string", json_path = ".status.wave"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.clusters.updated"),
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.clusters.total"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.clusters.failed"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceGraphRolloutSpec {
    /// Labels of the clusters that get it: those of their Secrets. All clusters by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector_schema")]
    pub cluster_selector: Option<LabelSelector>,
    /// Whether instances in the hub itself are served. True by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_hub: Option<bool>,
    /// In this order. A cluster belongs to the first wave that selects it; those in none come last, together.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub waves: Vec<Wave>,
    /// Clusters that stay on a revision; of those that select one the first counts. Pinned revisions are kept.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub pins: Vec<Pin>,
    /// The revision that all other clusters get; the newest by default. An older one takes a newer one back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<i64>,
    /// No further cluster begins while this is true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// What happens once too many clusters of a wave have failed. `Pause` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// So many clusters of a wave, or percents of them, are too many. 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "amount_schema")]
    pub failure_threshold: Option<IntOrString>,
    /// A cluster that is not done so many seconds after its turn came has failed. 600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub progress_deadline_seconds: Option<u32>,
    /// What happens in clusters that leave. `Orphan` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offboarding: Option<Offboarding>,
}

/// Clusters that get a revision together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// For people.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Labels of its clusters.
    #[schemars(schema_with = "selector_schema")]
    pub cluster_selector: LabelSelector,
    /// So many of its clusters, or percents of them, may be under way or unreachable at a time. 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "amount_schema")]
    pub max_unavailable: Option<IntOrString>,
    /// For so many seconds a cluster must have no more instances in ERROR than before. 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 86_400))]
    pub soak_seconds: Option<u32>,
}

/// Clusters that stay on a revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Labels of the clusters.
    #[schemars(schema_with = "selector_schema")]
    pub cluster_selector: LabelSelector,
    /// The revision.
    #[schemars(range(min = 1))]
    pub revision: i64,
}

/// What happens once too many clusters of a wave have failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnFailure {
    /// No further cluster begins.
    #[default]
    Pause,
    /// The next wave begins nevertheless.
    Continue,
    /// Clusters of this rollout return to the revision that they had, where that breaks nothing; no further one begins.
    Rollback,
}

/// What happens in clusters that leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Offboarding {
    /// Everything stays as it is, and nobody serves it.
    #[default]
    Orphan,
    /// Finalizer and labels leave the instances, so that people can delete them.
    Release,
    /// The instances are deleted, then the CRD.
    Delete,
}

/// How a rollout does. Of the same size however many clusters there are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceGraphRolloutStatus {
    /// The generation that this is said of.
    #[serde(default)]
    pub observed_generation: i64,
    /// The revision that clusters get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_revision: Option<i64>,
    /// That revision, once all clusters run it: a cluster that fails from then on stops nothing in the others. Absent from
    /// when the target or the spec is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_revision: Option<i64>,
    /// Name of the wave that is under way. Absent when all are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<String>,
    /// How many clusters stand how.
    #[serde(default)]
    pub clusters: ClusterCounts,
    /// The clusters that fail, 20 at most.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingCluster>,
    /// `Progressing`, `Available` and `Degraded`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}

/// How many clusters stand how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCounts {
    /// All that are selected.
    pub total: u32,
    /// Those that run what they should.
    pub updated: u32,
    /// Those that are under way.
    pub updating: u32,
    /// Those that have failed.
    pub failed: u32,
    /// Those that cannot be reached.
    pub unreachable: u32,
    /// Those where somebody else has a kind of this name.
    pub conflicted: u32,
}

/// A cluster that fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailingCluster {
    /// Its name, as `spoke#paris`.
    pub cluster: String,
    /// The revision that it was to get.
    pub revision: i64,
    /// CamelCase word.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Since when.
    pub since: Time,
}

/// A number, or percents.
fn amount_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "description": "A number, or percents as \"25%\".",
        "pattern": "^(100|[1-9]?[0-9])%$",
        "minimum": 0,
    })
}
