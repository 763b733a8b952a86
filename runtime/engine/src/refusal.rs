//! What an API server's refusal of a write means, for conditions: CamelCase word, and what to do about it.

use broker_api::condition;
use runtime_effect::write::Write;
use runtime_fleet::error::CallError;

use crate::machine::Refusal;

/// `Job n/x at compute#c`.
pub(crate) fn place<S>(write: &Write<S>) -> String {
    let Write { kind, namespace, name, cluster, .. } = write;
    let of = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{} {of}{name} at {cluster}", kind.kind)
}

/// Why the API server refuses a write. `program`: who is not allowed to.
pub(crate) fn refusal<S>(error: &CallError, write: &Write<S>, program: &str) -> Refusal {
    let place = place(write);
    let (reason, message) = match error {
        CallError::SchemaMismatch(why) => {
            (condition::INVALID, format!("{place} does not fit the kind's schema there: {why}"))
        }
        CallError::NamespaceTerminating(_) => (
            condition::NAMESPACE_TERMINATING,
            format!(
                "namespace {} at {} is being deleted; the object is brought back once it is gone",
                write.namespace, write.cluster
            ),
        ),
        CallError::Forbidden(why) => {
            (condition::FORBIDDEN, format!("{program} may not write {place}: {why}; grant it in that cluster's RBAC"))
        }
        CallError::AdmissionFailed(why) => (
            condition::ADMISSION_FAILED,
            format!("{place} cannot be admitted: {why}; mend that webhook in that cluster, or take it out"),
        ),
        CallError::UnknownOutcome(why) => (
            condition::WRITE_FAILED,
            format!("the API server fails at {place} again and again: {why}; look into its log"),
        ),
        CallError::TooLarge(why) => (
            condition::TOO_LARGE,
            format!("{place} is larger than its API server takes: {why}; make the object smaller"),
        ),
        error => (condition::INVALID, format!("{place} is refused: {error}")),
    };
    Refusal { reason, message }
}

/// Why the namespace of a write is not made.
pub(crate) fn no_namespace<S>(error: &CallError, write: &Write<S>, program: &str) -> Refusal {
    let Write { namespace, cluster, .. } = write;
    match error {
        CallError::Forbidden(why) => Refusal {
            reason: condition::FORBIDDEN,
            message: format!(
                "namespace {namespace} does not exist at {cluster} and {program} may not create it ({why}); create it there, \
                 or grant {program} create on namespaces"
            ),
        },
        error => Refusal {
            reason: if error.suspects_cluster() { condition::WRITE_FAILED } else { condition::INVALID },
            message: format!("namespace {namespace} at {cluster} cannot be created: {error}"),
        },
    }
}
