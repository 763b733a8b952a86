//! The status of a Certificate: the part of a provider that the broker, and through it the consumer, sees.

use std::collections::BTreeMap;

use broker_api::{
    brokered_status::{Availability, BrokeredStatus, RelatedResource},
    condition::{self, READY, set_condition},
    example::Certificate,
    gvk::Gvk,
};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::secret;

/// Field manager of everything that this provider writes.
pub const MANAGER: &str = "cert-provider";
/// Key of the Secret in `status.relatedResources`. The provider chooses it; it does not change while the object lives.
pub const RELATED: &str = "tls";

/// What is said of a Certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `status.status`: the word that a move to another provider waits for.
    pub availability: Availability,
    /// Reason of condition `Ready`, one CamelCase word.
    pub reason: &'static str,
    /// Message of condition `Ready`, for people.
    pub message: String,
    /// Whether the Secret is there for the consumer to have.
    pub secret: bool,
}

/// The status as `report` says it, or `None` when the Certificate has it already: then nothing is written.
pub fn build(certificate: &Certificate, report: &Report, now: Timestamp) -> Option<BrokeredStatus> {
    let held = certificate.status.clone().unwrap_or_default();
    let mut conditions: Vec<_> = held.conditions.iter().filter(|held| held.type_ == READY).cloned().collect();
    let ready = condition::condition(
        READY,
        report.availability == Availability::Available,
        report.reason,
        report.message.as_str(),
        certificate.metadata.generation,
        now,
    );
    let changed = set_condition(&mut conditions, ready);
    let related_resources =
        if report.secret { BTreeMap::from([(RELATED.to_owned(), related(certificate))]) } else { BTreeMap::new() };
    let status = BrokeredStatus { conditions, related_resources, status: Some(report.availability) };
    let same = !changed && held.status == status.status && held.related_resources == status.related_resources;
    (!same).then_some(status)
}

fn related(certificate: &Certificate) -> RelatedResource {
    RelatedResource {
        gvk: Gvk { group: "core".to_owned(), version: "v1".to_owned(), kind: "Secret".to_owned() },
        name: secret::name(&certificate.name_any()),
        namespace: certificate.namespace(),
    }
}
