//! Kinds to try the broker with: `Certificate` and `VM` in `example.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Names that a certificate may be for: labels of letters, digits and hyphens, the first may be `*` (RFC 1034 3.5, RFC 6125 6.4.3).
pub(crate) const FQDN_PATTERN: &str =
    r"^(\*\.)?[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*\.?$";

/// Which certificate is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "example.platform-mesh.io",
    version = "v1alpha1",
    kind = "Certificate",
    plural = "certificates",
    shortname = "excert",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A certificate that a provider issues. An example of a brokered kind.",
    printcolumn(name = "FQDN", type_ = "string", json_path = ".spec.fqdn")
)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// Fully qualified domain name that the certificate is for, for example `www.internal.corp`.
    #[schemars(length(min = 1, max = 253), pattern(FQDN_PATTERN))]
    pub fqdn: String,
}

/// Which virtual machine is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "example.platform-mesh.io",
    version = "v1alpha1",
    kind = "VM",
    root = "Vm",
    plural = "vms",
    shortname = "exvm",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A virtual machine that a provider runs. An example of a brokered kind.",
    printcolumn(name = "Arch", type_ = "string", json_path = ".spec.arch"),
    printcolumn(name = "Memory", type_ = "integer", json_path = ".spec.memory", description = "MiB")
)]
#[serde(rename_all = "camelCase")]
pub struct VmSpec {
    /// Architecture of its processor. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Arch")]
    pub arch: Option<Arch>,
    /// Memory in MiB. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 128))]
    pub memory: Option<i64>,
}

/// Architecture of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Arch {
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit Arm.
    #[serde(rename = "arm64")]
    Arm64,
}
