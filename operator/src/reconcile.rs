//! One pass over one Broker. Each step takes what the one before it made, so none can be left out:
//! `dereference → validate → build → apply → update_status`.

use std::{sync::Arc, time::Duration};

use broker_api::broker::Broker;
use kube::{
    ResourceExt as _,
    api::{DynamicObject, PartialObjectMeta},
    runtime::controller::Action,
};
use runtime_fleet::backoff::delay;
use tracing::warn;

use crate::{
    apply::{Applied, ApplyError, apply},
    build::build,
    call::CallError,
    cleanup::{self, CleanupError},
    context::Context,
    dereference::{self, DereferenceError},
    finalizer,
    invocation::Invocation,
    metrics::METRICS,
    owner::Owner,
    trouble::{CLEANUP_FAILED, FIGHTING, NAME_CONFLICT, NO_CLUSTER_SECRETS, READ_FAILED, Trouble},
    update_status::{tell_trouble, update_status},
    validate::{Input, validate},
};

/// Nothing calls for a pass so long: changes are watched. This is for what nobody foresaw.
const IDLE: Duration = Duration::from_mins(10);
/// How often it is looked whether what a person has to mend was mended: cluster Secrets and other people's objects are
/// not watched.
const HELD: Duration = Duration::from_secs(10);

/// What Brokers are watched as: their metadata, which even those have that cannot be read otherwise.
pub type Seen = PartialObjectMeta<Broker>;

/// A pass that did not come to its end, by step.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// Reading.
    #[error(transparent)]
    Dereference(#[from] DereferenceError),
    /// Setting the finalizer.
    #[error("cannot set the finalizer: {0}")]
    Finalizer(CallError),
    /// Applying.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The status says what.
    #[error("{0} objects were refused, see condition Degraded")]
    Refused(usize),
    /// Writing the status.
    #[error("cannot write the status: {0}")]
    Status(CallError),
    /// Deleting what a Broker leaves.
    #[error(transparent)]
    Cleanup(#[from] CleanupError),
    /// A Broker without namespace or uid: no API server gives such.
    #[error("the Broker has no namespace or uid")]
    Anonymous,
}

/// One pass over one Broker.
pub async fn reconcile(seen: Arc<Seen>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let (namespace, name) = (seen.namespace().unwrap_or_default(), seen.name_any());
    let result = Box::pin(pass(&context, &namespace, &name)).await;
    METRICS.passed(result.is_ok());
    if result.is_ok() {
        context.failures.forget(&namespace, &name);
    }
    result
}

/// After a failure: later and later.
#[allow(clippy::needless_pass_by_value)] // as kube calls it
pub fn error_policy(seen: Arc<Seen>, error: &ReconcileError, context: Arc<Context>) -> Action {
    let (namespace, name) = (seen.namespace().unwrap_or_default(), seen.name_any());
    let wait = context.failures.add(&namespace, &name);
    warn!(broker = %format!("{namespace}/{name}"), %error, ?wait, "trying again later");
    Action::requeue(wait)
}

async fn pass(context: &Context, namespace: &str, name: &str) -> Result<Action, ReconcileError> {
    let Some(object) = dereference::broker(&context.client, namespace, name).await? else {
        return Ok(Action::await_change());
    };
    let owner = Owner::of(&object).ok_or(ReconcileError::Anonymous)?;
    if object.metadata.deletion_timestamp.is_some() {
        // Also of a paused Broker: who deletes it has decided.
        if let Err(error) = cleanup::clean(context, &owner, &object).await {
            if error.is_refusal() {
                tell_trouble(context, &owner, &object, &Trouble::new(CLEANUP_FAILED, &error.to_string())).await;
            }
            return Err(error.into());
        }
        return Ok(Action::await_change());
    }
    let broker = read(&object);
    let invocation = broker.as_ref().ok().map(|broker| Invocation::of(&owner, &broker.spec, &context.defaults.broker));
    let secrets_namespaces = match &invocation {
        Some(Ok(invocation)) => invocation.secrets_namespaces(),
        _ => Vec::new(),
    };
    let found = match dereference::surroundings(context, &owner, &secrets_namespaces).await {
        Ok(found) => found,
        Err(error) => {
            if error.is_refusal() {
                tell_trouble(context, &owner, &object, &Trouble::new(READ_FAILED, &error.to_string())).await;
            }
            return Err(error.into());
        }
    };
    let pods = found.pods.clone();
    let validated = validate(Input {
        owner: &owner,
        broker: broker.as_ref().map_err(String::as_str),
        defaults: &context.defaults,
        secrets: found.secrets,
        accounts: found.accounts(),
        elects: invocation.as_ref().and_then(|it| it.as_ref().ok()).is_none_or(|it| found.elects(it)),
        invocation,
        monitors: context.has_monitors(),
    });
    let applied = match validated {
        Ok(validated) => {
            finalizer::set(context, &owner, &object).await.map_err(ReconcileError::Finalizer)?;
            Box::pin(apply(context, build(validated), found)).await?
        }
        Err(held) => Applied::untouched(held, found),
    };
    update_status(context, &owner, &object, &applied, &pods).await.map_err(ReconcileError::Status)?;
    next(&applied)
}

fn read(object: &DynamicObject) -> Result<Broker, String> {
    let value = serde_json::to_value(object).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// When to look again without being told.
fn next(applied: &Applied) -> Result<Action, ReconcileError> {
    if applied.refused > 0 {
        return Err(ReconcileError::Refused(applied.refused));
    }
    let watched = |reason: &str| ![NO_CLUSTER_SECRETS, NAME_CONFLICT, FIGHTING].contains(&reason);
    let wait = if applied.troubles.iter().all(|trouble| watched(&trouble.reason)) { IDLE } else { HELD };
    Ok(Action::requeue(delay(wait, wait, 0)))
}
