//! `MigrationConfiguration`: what has to be done when objects of a kind move between providers.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{condition::conditions_schema, gvk::Gvk};

/// Which moves this is about, and their stages.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "MigrationConfiguration",
    plural = "migrationconfigurations",
    shortname = "migcfg",
    category = "resource-broker",
    namespaced,
    status = "MigrationConfigurationStatus",
    derive = "PartialEq",
    doc = "What has to be done when objects of a kind move between providers. Counts only in the coordination cluster.",
    printcolumn(name = "From", type_ = "string", json_path = ".spec.from.kind"),
    printcolumn(name = "To", type_ = "string", json_path = ".spec.to.kind"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status")
)]
#[serde(rename_all = "camelCase")]
pub struct MigrationConfigurationSpec {
    /// Kind of the copy that is left.
    pub from: Gvk,
    /// Kind of the copy that replaces it.
    pub to: Gvk,
    /// What is done, in this order. The initial phase ends with the first stage that has `progress`; the others are the cutover phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub stages: Vec<MigrationStage>,
}

/// One step of a move: objects to apply in the compute cluster, and what to wait for.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!has(self.templates) || self.templates.all(key, key.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$') && !(key in ['from', 'to', 'migration', 'stage']))",
    "keys of templates are lower case letters, digits and hyphens, begin with a letter, and are not from, to, migration or stage"
))]
pub struct MigrationStage {
    /// Its name; also the value of a label on its objects.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub name: String,
    /// Objects to apply, by the name that conditions call them by. May hold CEL in `${…}` over `from`, `to`, `migration` and `stage`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub templates: BTreeMap<String, Template>,
    /// CEL over the stage's objects, `from` and `to`. The stage has succeeded when all are true; at once when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 2048)))]
    pub success_conditions: Vec<String>,
    /// CEL over the stage's objects, `from` and `to`. The stage has failed when one is true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 2048)))]
    pub failure_conditions: Vec<String>,
    /// The initial phase ends with this stage: the consumer is switched to the new copy once it has succeeded.
    #[serde(default)]
    pub progress: bool,
    /// The stage has failed when it has not succeeded after so many seconds. Never when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<i64>,
    /// What happens when the stage fails. Defaults to Rollback.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What happens when a stage fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OnFailure {
    /// The new copy is deleted, the old one stays as it was.
    #[default]
    Rollback,
    /// All stays as it is, for a person to look at.
    Hold,
}

/// A Kubernetes object, as people write it: `apiVersion`, `kind` and the rest. Its name and labels are set by the broker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub Map<String, Value>);

impl JsonSchema for Template {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A Kubernetes object. Its name and labels are set by the broker.",
            "x-kubernetes-preserve-unknown-fields": true,
            "required": ["apiVersion", "kind"],
            "properties": {
                "apiVersion": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Group and version of the object, for example `batch/v1`.",
                },
                "kind": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Kind of the object, for example `Job`.",
                },
            },
        })
    }
}

/// What the broker says of a MigrationConfiguration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationConfigurationStatus {
    /// `Ready`: in use, or which expression is not valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
