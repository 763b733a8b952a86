//! Networks: `networking.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Which network is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "networking.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "VirtualNetwork",
    plural = "virtualnetworks",
    shortname = "gvn",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A virtual network that a provider runs.",
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.cidr"),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.region")
)]
#[serde(rename_all = "camelCase")]
pub struct VirtualNetworkSpec {
    /// Address range, for example `10.1.0.0/16`. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 43))]
    #[x_kube(validation = ("isCIDR(self)", "must be an address range such as 10.1.0.0/16 or fd00::/48"))]
    pub cidr: Option<String>,
    /// Where it is made. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub region: Option<String>,
}

/// Which networks are connected.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "networking.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "Peering",
    plural = "peerings",
    shortname = "gpeer",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A connection between two virtual networks.",
    printcolumn(name = "Local", type_ = "string", json_path = ".spec.localNetworkRef"),
    printcolumn(name = "Remote", type_ = "string", json_path = ".spec.remoteNetworkRef")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self.localNetworkRef != self.remoteNetworkRef", "a network cannot be peered with itself"))]
pub struct PeeringSpec {
    /// Name of the network on this side.
    #[schemars(length(min = 1, max = 253))]
    pub local_network_ref: String,
    /// Name of the network on the other side.
    #[schemars(length(min = 1, max = 253))]
    pub remote_network_ref: String,
    /// Let traffic through that the other side forwards for others. Not when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_forwarded_traffic: Option<bool>,
    /// Let the other side use the gateway of this one. Not when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_gateway_transit: Option<bool>,
}
