//! Messaging: `messaging.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Which queue is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "messaging.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "PubSub",
    plural = "pubsubs",
    shortname = "gps",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A publish-subscribe queue that a provider runs."
)]
#[serde(rename_all = "camelCase")]
pub struct PubSubSpec {
    /// How many messages it holds at the most. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_size: Option<i64>,
    /// How long it keeps a message, in seconds. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub retention_seconds: Option<i64>,
}

/// Which stream is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "messaging.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "EventStreaming",
    plural = "eventstreamings",
    shortname = "ges",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "An event stream that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine")
)]
#[serde(rename_all = "camelCase")]
pub struct EventStreamingSpec {
    /// Engine, for example `kafka`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Number of partitions. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub partitions: Option<i64>,
    /// How long it keeps an event, in hours. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub retention_hours: Option<i64>,
}

/// Which message broker is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "messaging.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "MessageBroker",
    plural = "messagebrokers",
    shortname = "gmb",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A message broker that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
#[serde(rename_all = "camelCase")]
pub struct MessageBrokerSpec {
    /// Engine, for example `rabbitmq`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Version of the engine. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
    /// Size of its instance, in words of the provider. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub instance_type: Option<String>,
}
