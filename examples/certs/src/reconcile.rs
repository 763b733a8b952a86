//! One pass over one Certificate: observe → decide → act. Writes only what differs, so a restart writes nothing.

use std::{sync::Arc, time::Duration};

use broker_api::example::Certificate;
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{controller::Action, reflector::ObjectRef},
};
use serde_json::json;

use crate::{
    authority::{Authority, AuthorityError, Leaf},
    decision::{Decision, decide},
    retries::Retries,
    secret,
    status::{self, MANAGER, Report},
};

/// An API server that does not answer within this time holds up nothing but its own object.
const DEADLINE: Duration = Duration::from_secs(30);

/// What stands in the way, such as the Secret of another, may leave without an event for us.
const RECHECK: Duration = Duration::from_mins(5);

/// Why a pass failed. The object is tried again, see [`retry`].
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The Secret could not be read.
    #[error("cannot read Secret {0}: {1}")]
    Read(String, Box<kube::Error>),
    /// The Secret could not be written.
    #[error("cannot write Secret {0}: {1}")]
    Write(String, Box<kube::Error>),
    /// The status could not be written.
    #[error("cannot write the status: {0}")]
    Status(Box<kube::Error>),
    /// No certificate could be issued.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The object has no uid or no namespace: it does not come from an API server.
    #[error("the Certificate has no uid or no namespace")]
    Nowhere,
    /// The API server took longer than the deadline.
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Deadline,
}

/// What every pass needs.
pub struct Context {
    /// The provider's cluster.
    pub client: Client,
    /// Who issues.
    pub authority: Authority,
    /// Who waits how long after a failure.
    pub retries: Retries,
}

/// Brings one Certificate to where it should be, or fails and is tried again.
pub async fn reconcile(certificate: Arc<Certificate>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let pass = pass(&certificate, &context);
    let action = tokio::time::timeout(DEADLINE, pass).await.map_err(|_| ReconcileError::Deadline)??;
    context.retries.clear(&ObjectRef::from(&*certificate));
    Ok(action)
}

/// When a Certificate whose pass failed is tried again.
pub fn retry(certificate: &Certificate, error: &ReconcileError, context: &Context) -> Action {
    let object = ObjectRef::from(certificate);
    let wait = context.retries.failed(object.clone());
    tracing::warn!(%object, %error, wait_ms = wait.as_millis(), "will be tried again");
    Action::requeue(wait)
}

async fn pass(certificate: &Certificate, context: &Context) -> Result<Action, ReconcileError> {
    if certificate.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let namespace = certificate.namespace().ok_or(ReconcileError::Nowhere)?;
    let cluster = Cluster {
        secrets: Api::namespaced(context.client.clone(), &namespace),
        certificates: Api::namespaced(context.client.clone(), &namespace),
    };
    let mut held = cluster.secret(certificate).await?;
    let now = Timestamp::now();

    // The status speaks only of what is stored: the Secret first, then the status from the Secret as it came back.
    // Storing decides once; a second turn of the loop finds the Secret good and keeps it.
    for _ in 0..2 {
        match decide(certificate, held.as_ref(), &context.authority, now) {
            Decision::Fail(report) => {
                cluster.report(certificate, &report, now).await?;
                return Ok(Action::requeue(RECHECK));
            }
            Decision::Issue { fqdn, announce } => {
                if let Some(report) = announce {
                    cluster.report(certificate, &report, now).await?;
                }
                let leaf = context.authority.issue(&fqdn, now)?;
                held = Some(cluster.store(certificate, held.as_ref(), &leaf).await?);
                tracing::info!(certificate = %ObjectRef::from(certificate), fqdn, "issued");
            }
            Decision::Restore(leaf) => {
                held = Some(cluster.store(certificate, held.as_ref(), &leaf).await?);
                tracing::info!(certificate = %ObjectRef::from(certificate), "its Secret was changed: restored");
            }
            Decision::Keep { report, renewal } => {
                cluster.report(certificate, &report, now).await?;
                let wait = Duration::try_from(renewal.duration_since(now)).unwrap_or_default();
                return Ok(Action::requeue(wait));
            }
        }
    }
    // Whoever changes the Secret as fast as we do brings an event with each change.
    Ok(Action::await_change())
}

struct Cluster {
    secrets: Api<Secret>,
    certificates: Api<Certificate>,
}

impl Cluster {
    async fn secret(&self, certificate: &Certificate) -> Result<Option<Secret>, ReconcileError> {
        let name = secret::name(&certificate.name_any());
        self.secrets.get_opt(&name).await.map_err(|error| ReconcileError::Read(name, Box::new(error)))
    }

    async fn store(
        &self,
        certificate: &Certificate,
        held: Option<&Secret>,
        leaf: &Leaf,
    ) -> Result<Secret, ReconcileError> {
        let mut wanted = secret::build(certificate, leaf).ok_or(ReconcileError::Nowhere)?;
        let mut params = PatchParams::apply(MANAGER);
        if let Some(held) = held {
            // Ours, as it was seen: whatever others wrote into our fields since then is looked at first.
            params = params.force();
            wanted.metadata.resource_version.clone_from(&held.metadata.resource_version);
        }
        let name = wanted.name_any();
        let written = self.secrets.patch(&name, &params, &Patch::Apply(&wanted)).await;
        written.map_err(|error| ReconcileError::Write(name, Box::new(error)))
    }

    async fn report(&self, certificate: &Certificate, report: &Report, now: Timestamp) -> Result<(), ReconcileError> {
        let Some(status) = status::build(certificate, report, now) else {
            return Ok(());
        };
        let patch = json!({
            "apiVersion": Certificate::api_version(&()),
            "kind": Certificate::kind(&()),
            // With the uid, a Certificate that was recreated under the same name is not told of its predecessor.
            "metadata": { "name": certificate.name_any(), "uid": certificate.meta().uid },
            "status": status,
        });
        let params = PatchParams::apply(MANAGER).force();
        match self.certificates.patch_status(&certificate.name_any(), &params, &Patch::Apply(patch)).await {
            // Deleted meanwhile: there is nobody to tell.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            written => written.map(drop).map_err(|error| ReconcileError::Status(Box::new(error))),
        }
    }
}
