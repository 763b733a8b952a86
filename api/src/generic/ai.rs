//! Hosted models: `ai.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Which model is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "ai.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "HostedModel",
    plural = "hostedmodels",
    shortname = "ghm",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A model that a provider hosts for inference.",
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.modelID")
)]
#[serde(rename_all = "camelCase")]
pub struct HostedModelSpec {
    /// Identifier of the model.
    #[serde(rename = "modelID")]
    #[schemars(length(min = 1, max = 253))]
    pub model_id: String,
    /// Inference runtime, for example `vllm`, `triton` or `ollama`. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub runtime: Option<String>,
}
