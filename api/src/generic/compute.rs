//! Machines and clusters: `compute.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{brokered_status::BrokeredStatus, example::Arch};

/// Which virtual machine is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "compute.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "VirtualMachine",
    plural = "virtualmachines",
    shortname = "gvm",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A virtual machine that a provider runs.",
    printcolumn(name = "Arch", type_ = "string", json_path = ".spec.arch"),
    printcolumn(name = "Memory", type_ = "integer", json_path = ".spec.memory")
)]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineSpec {
    /// Architecture of its processor. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Arch")]
    pub arch: Option<Arch>,
    /// Memory in MiB. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 128))]
    pub memory: Option<i64>,
}

/// Which cluster is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "compute.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "KubernetesCluster",
    plural = "kubernetesclusters",
    shortname = "gkc",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A Kubernetes cluster that a provider runs.",
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".spec.nodeCount")
)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesClusterSpec {
    /// Kubernetes version, for example `1.36` or `v1.36.2`.
    #[schemars(length(max = 63), regex(pattern = r"^v?[0-9]+(\.[0-9]+){0,2}([-+].*)?$"))]
    pub version: String,
    /// Number of worker nodes. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub node_count: Option<i64>,
}
