//! `Broker`: a resource broker that the operator runs.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        EnvVar, HostAlias, LocalObjectReference, PodSecurityContext, ResourceRequirements, Volume, VolumeMount,
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::conditions_schema;

/// How the broker is deployed and what it serves.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "operator.broker.platform-mesh.io",
    version = "v1alpha1",
    kind = "Broker",
    plural = "brokers",
    shortname = "brk",
    category = "resource-broker",
    namespaced,
    status = "BrokerStatus",
    derive = "PartialEq",
    doc = "A resource broker that the operator runs. Counts only in the coordination cluster. With annotation broker.platform-mesh.io/paused: \"true\" the operator writes nothing but its status; replicas: 0 stops the broker.",
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].status"
    ),
    printcolumn(name = "Degraded", type_ = "string", json_path = ".status.conditions[?(@.type==\"Degraded\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Degraded\")].reason"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!has(self.replicas) || self.replicas <= 1 || !has(self.leaderElection) || self.leaderElection",
    "more than one replica needs leader election"
))]
pub struct BrokerSpec {
    /// How many instances run. One of them works, the others stand by; 0 stops the broker. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The container image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// ServiceAccount that the pods run as, which must exist; the operator binds the broker's roles to it. When not set, the one that has the Broker's name, which the operator makes where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// Compute resources of the container. Defaults to requests of 100m CPU and 128Mi memory, and limits of 2 CPUs and 1Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Security settings of the pods, instead of the default: user and group 65532, never root, seccomp profile RuntimeDefault. The container always runs without privileges, capabilities and a writable root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// Annotations on the Deployment and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels on the Deployment and its pods. `app` and the operator's own cannot be changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// More arguments for the broker, after those that the operator sets; of a flag that is given twice, the last counts. What the broker would not take is told in condition Degraded, and the running broker is left as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// Entries for the hosts file of the pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<HostAlias>,
    /// Environment variables of the container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Volumes of the pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub volumes: Vec<Volume>,
    /// Where the container mounts volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["mountPath"]))]
    pub volume_mounts: Vec<VolumeMount>,
    /// Kinds to broker, each as `Kind.version.group`, for example `Certificate.v1alpha1.example.platform-mesh.io`. Group `core` is the core group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 256),
        inner(length(max = 380), regex(pattern = r"^[A-Z][A-Za-z0-9]*\.v[0-9]+((alpha|beta)[0-9]+)?\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub watch_kinds: Vec<String>,
    /// Namespace of the coordination cluster whose Secrets with label `broker.platform-mesh.io/role` hold kubeconfigs of consumers and providers. None when not set. While it holds no such Secret, nothing is deployed, and what runs is left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub cluster_secrets_namespace: Option<String>,
    /// Let the instances agree on which one works. Defaults to true. Without it there is never more than one, so an update stops the old instance before it starts the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_election: Option<bool>,
    /// Prometheus metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// The controller of ResourceGraphDefinitions, a second program beside the broker, in the coordination cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<Graphs>,
}

/// The controller of ResourceGraphDefinitions. It serves the whole coordination cluster: one Broker with it is enough, and of those of several one works. Annotations, labels, securityContext, hostAliases, volumes, volumeMounts and metrics.enabled of the Broker are for its pods, too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Graphs {
    /// Run it. Defaults to false. When it no longer runs, ResourceGraphDefinitions, the kinds that they define and all objects stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How many instances run. One of them works, the others stand by; 0 stops it. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Its container image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Let it delete the CRD of a ResourceGraphDefinition that is deleted, and with it all instances and what they became. Defaults to false: they stay.
    #[serde(default, rename = "allowCRDDeletion", skip_serializing_if = "Option::is_none")]
    pub allow_crd_deletion: Option<bool>,
    /// Bring ResourceGraphDefinitions to other clusters, and serve their instances there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Compute resources of its container. The same defaults as those of the broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// More arguments for it, after those that the operator sets. Those that follow from fields here cannot be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// Environment variables of its container, such as RUST_LOG.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
}

/// How ResourceGraphDefinitions get to other clusters, the spokes of this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// Do it. Defaults to false. When it is no longer done, all that is in spokes stays as it is, and nobody serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Namespace of the Secrets with kubeconfigs of spokes. Defaults to resource-broker-clusters, the only one in which the operator may let the controller read them unless somebody allows it more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub secrets_namespace: Option<String>,
    /// Label that with value `true` makes a Secret that of a spoke, beside `broker.platform-mesh.io/role: spoke`. Defaults to kro.run/cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 317),
        regex(pattern = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
    )]
    pub secrets_label: Option<String>,
    /// Key of the kubeconfig in these Secrets. Defaults to kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    pub secrets_key: Option<String>,
}

/// A container image and how it is pulled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Registry and name, without the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub repository: Option<String>,
    /// Tag. That of the operator when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub tag: Option<String>,
    /// When to pull it: `Always`, `IfNotPresent` or `Never`. The kubelet's default when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
    /// Secrets with credentials for the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

/// Whether and where metrics are served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Serve metrics. Defaults to true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Port of the pods. Defaults to 8080.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// What the operator says of a Broker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokerStatus {
    /// `Available`: an instance of the broker works. `GraphsAvailable`, where `graphs` is enabled: one of that controller does. `Progressing`: a change is being rolled out. `Degraded`: something is amiss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
