//! How a Deployment fares.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};

use super::Stand;
use crate::trouble::Trouble;

/// Reason of Progressing once all instances are as they shall be.
pub(super) const COMPLETE: &str = "Complete";
const DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";

/// Numbers of a Deployment. Those of its status count only once they speak of its current generation.
struct Numbers {
    wanted: i32,
    total: i32,
    updated: i32,
    available: i32,
    current: bool,
}

fn numbers(deployment: &Deployment) -> Numbers {
    let status = deployment.status.clone().unwrap_or_default();
    Numbers {
        wanted: deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1),
        total: status.replicas.unwrap_or(0),
        updated: status.updated_replicas.unwrap_or(0),
        available: status.available_replicas.unwrap_or(0),
        current: status.observed_generation >= deployment.metadata.generation,
    }
}

fn condition<'a>(deployment: &'a Deployment, kind: &str) -> Option<&'a DeploymentCondition> {
    let conditions = deployment.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn deadline_exceeded(deployment: &Deployment) -> bool {
    condition(deployment, "Progressing").is_some_and(|it| it.reason.as_deref() == Some(DEADLINE_EXCEEDED))
}

/// Whether an instance works: one is enough, the others stand by. `trouble` says why none does, where that is known.
pub(super) fn available(deployment: Option<&Deployment>, trouble: Option<&Trouble>) -> Stand {
    let why_not = |reason: &str, message: &str| match trouble {
        Some(trouble) => Stand::new(false, &trouble.reason, format!("{message}, see condition Degraded")),
        None => Stand::new(false, reason, message),
    };
    let Some(deployment) = deployment else { return why_not("NoDeployment", "there is no Deployment") };
    let Numbers { wanted, available, .. } = numbers(deployment);
    if available > 0 {
        return Stand::new(true, "InstanceReady", format!("{available} of {wanted} instances are ready"));
    }
    if wanted == 0 {
        return Stand::new(false, "Stopped", "replicas is 0");
    }
    why_not("NoInstanceReady", &format!("none of {wanted} instances is ready"))
}

/// Whether a change is being rolled out. Not: an instance that fails after it was.
pub(super) fn progressing(deployment: Option<&Deployment>) -> Stand {
    let Some(deployment) = deployment else { return Stand::new(false, "NoDeployment", "there is no Deployment") };
    let Numbers { wanted, total, updated, available, current } = numbers(deployment);
    if !current {
        return Stand::new(true, "RollingOut", "the change is not seen yet by the Deployment's controller");
    }
    if deadline_exceeded(deployment) {
        let said = condition(deployment, "Progressing").and_then(|it| it.message.clone()).unwrap_or_default();
        return Stand::new(false, DEADLINE_EXCEEDED, said);
    }
    let rolled_out =
        condition(deployment, "Progressing").is_some_and(|it| it.reason.as_deref() == Some("NewReplicaSetAvailable"));
    if updated < wanted || total > updated || available < updated && !rolled_out {
        let message = format!("{updated} of {wanted} instances are new, {available} of all {total} are ready");
        return Stand::new(true, "RollingOut", message);
    }
    Stand::new(false, COMPLETE, format!("all {wanted} instances are as the Broker says"))
}

/// Whether no instance is left that is not as the Deployment says.
pub fn is_rolled_out(deployment: &Deployment) -> bool {
    let Numbers { wanted, total, updated, current, .. } = numbers(deployment);
    current && updated >= wanted && total == updated
}

/// What the Deployment's controller complains of.
pub(super) fn troubles(deployment: &Deployment) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let said = |it: &DeploymentCondition| it.message.clone().unwrap_or_default();
    if let Some(it) = condition(deployment, "ReplicaFailure").filter(|it| it.status == "True") {
        troubles.push(Trouble::new(it.reason.as_deref().unwrap_or("ReplicaFailure"), &said(it)));
    }
    if let Some(it) = condition(deployment, "Progressing").filter(|_| deadline_exceeded(deployment)) {
        troubles.push(Trouble::new(DEADLINE_EXCEEDED, &said(it)));
    }
    troubles
}
