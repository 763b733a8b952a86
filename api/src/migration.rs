//! `Migration`: one move of one object between two providers.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{condition::conditions_schema, gvk::Gvk, migration_configuration::MigrationStage};

/// Type of a condition: it goes on by itself, or what it waits for. False while it is paused, held or at its end; the
/// reason is the one word that says where it stands.
pub const PROGRESSING: &str = "Progressing";
/// Type of a condition: it goes no further by itself, and why. Absent while nothing is wrong.
pub const STALLED: &str = "Stalled";
/// Type of a condition: it has come to its end, well or not. Absent until then; its time is that of the end.
pub const SUCCEEDED: &str = "Succeeded";

/// What moves, and where to. The broker writes it; a person may, to move an object by hand.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "Migration",
    plural = "migrations",
    shortname = "mig",
    category = "resource-broker",
    namespaced,
    status = "MigrationStatus",
    derive = "PartialEq",
    doc = "One move of one object from a provider to another. Counts only in the coordination cluster.",
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.from.gvk.kind"),
    printcolumn(name = "From", type_ = "string", json_path = ".spec.from.clusterName"),
    printcolumn(name = "To", type_ = "string", json_path = ".spec.to.clusterName"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].reason"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Progressing\")].message"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "self.from == oldSelf.from && self.to == oldSelf.to",
    "from and to of a Migration cannot change: create another Migration"
))]
#[x_kube(validation = (
    "self.from.clusterName != self.to.clusterName || self.from.name != self.to.name || (has(self.from.__namespace__) && has(self.to.__namespace__) && self.from.__namespace__ != self.to.__namespace__) || self.from.gvk.kind != self.to.gvk.kind || self.from.gvk.group != self.to.gvk.group",
    "from and to are the same copy"
))]
pub struct MigrationSpec {
    /// The copy that is left.
    pub from: MigrationRef,
    /// The copy that replaces it.
    pub to: MigrationRef,
    /// Go no further until this is false again. What runs goes on running.
    #[serde(default)]
    pub paused: bool,
    /// Give up, as if a stage had failed with `onFailure: Rollback`. Has no effect once the consumer is switched to the
    /// new copy: from then on it can only go forward.
    #[serde(default)]
    pub abort: bool,
    /// Raise it to try a failed stage once more.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub retry: i64,
    /// Go on although conditions of the current stage do not hold or the new copy is not ready: while it is set, each
    /// stage counts as a success. May lose data.
    #[serde(default)]
    pub force: bool,
}

/// A copy in a provider cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationRef {
    /// Its group, version and kind.
    pub gvk: Gvk,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Name of the provider cluster it is in, with or without `provider#`.
    #[schemars(length(min = 1, max = 253))]
    pub cluster_name: String,
}

/// How far a Migration is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationStatus {
    /// Where it stands. Empty until it was first looked at.
    #[serde(default)]
    pub state: MigrationState,
    /// Prefix of the names of everything made for this Migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub id: Option<String>,
    /// Name of the stage that runs now, or ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub stage: Option<String>,
    /// What became of each stage that has begun, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub stages: Vec<StageStatus>,
    /// Generation of the MigrationConfiguration in force, as it was at the start. Later edits do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_generation: Option<i64>,
    /// The configuration in force, as it was when the Migration began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<RecordedConfiguration>,
    /// `Progressing`: what it does or waits for. `Stalled`: why it goes no further by itself; absent while nothing is
    /// wrong. `Succeeded`: how it ended; absent until it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A MigrationConfiguration as a Migration recorded it. Edits and deletion of the original do not count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedConfiguration {
    /// Its namespace.
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its `metadata.generation`.
    pub generation: i64,
    /// Its stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "recorded_stages_schema")]
    pub stages: Vec<MigrationStage>,
    /// The broker's signature; what anybody else wrote is not carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub signature: Option<String>,
}

/// Not the schema of a MigrationConfiguration's stages: what was valid when it was recorded has to stay readable, and
/// a status has no defaults.
fn recorded_stages_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "items": {
            "type": "object",
            "description": "A stage, as in the `spec.stages` of a MigrationConfiguration.",
            "x-kubernetes-preserve-unknown-fields": true,
        },
    })
}

/// Where a Migration stands. It goes through these in order; `Failed` can follow any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum MigrationState {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    Unknown,
    /// Seen, not begun.
    Pending,
    /// The stages before the switch run.
    InitialInProgress,
    /// The stages before the switch are done; related resources are switched to the new copy.
    InitialCompleted,
    /// The stages after the switch run.
    CutoverInProgress,
    /// All stages are done; the old copy goes.
    CutoverCompleted,
    /// It failed; the conditions say why.
    Failed,
}

impl MigrationState {
    /// Whether stages may still be undone: the consumer is served by the old copy, and is to be.
    pub fn is_before_switch(self) -> bool {
        matches!(self, Self::Unknown | Self::Pending | Self::InitialInProgress)
    }
}

/// What became of one stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageStatus {
    /// Name of the stage.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Where it stands.
    #[serde(default)]
    pub state: StageState,
    /// When it began, for the last time if it was retried. The time that the Migration was paused is added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// When it succeeded or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Time>,
    /// What it waits for, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
    /// `spec.retry` as it last began or failed: a greater one runs the failed stage once more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The moment as API objects have it, with whole seconds. `millis` are those since 1970; a time that no calendar has is 1970.
pub fn time_of(millis: u64) -> Time {
    let seconds = i64::try_from(millis / 1000).unwrap_or_default();
    Time(Timestamp::from_second(seconds).unwrap_or_default())
}

/// Milliseconds since 1970; 0 before.
pub fn millis_of(time: &Time) -> u64 {
    u64::try_from(time.0.as_millisecond()).unwrap_or_default()
}

/// Where a stage stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StageState {
    /// Not begun.
    #[default]
    Pending,
    /// Its objects are applied, its conditions are waited for.
    Running,
    /// All of its success conditions held.
    Succeeded,
    /// A failure condition held, its time passed, or it was aborted.
    Failed,
}
