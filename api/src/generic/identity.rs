//! Identity: `identity.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{brokered_status::BrokeredStatus, example::FQDN_PATTERN};

/// Which certificate is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "identity.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "Certificate",
    plural = "certificates",
    shortname = "gcert",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A certificate that a provider issues.",
    printcolumn(name = "FQDN", type_ = "string", json_path = ".spec.fqdn")
)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// Fully qualified domain name that the certificate is for.
    #[schemars(length(min = 1, max = 253), pattern(FQDN_PATTERN))]
    pub fqdn: String,
}
