//! Makes what is built so, and says what came of it. Each object by itself: one that is refused keeps none from being
//! applied.

pub mod decision;
mod memory;

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use tracing::info;

use crate::{
    NAME,
    build::{Built, bindings},
    call::{CallError, call, call_opt},
    context::Context,
    dereference::{Dereferenced, typed},
    desired::{Desired, Key, OwnedKind},
    owner::Owner,
    program::Program,
    status::rollout::is_rolled_out,
    trouble::{APPLY_FAILED, FIGHTING, INVALID_SPEC, NAME_CONFLICT, Trouble},
    validate::Held,
};
use decision::{Decision, decide, obstacle};
pub use memory::Memory;

/// What there is after a pass: what a status is made of.
#[derive(Debug)]
pub struct Applied {
    /// The broker's Deployment.
    pub deployment: Option<Deployment>,
    /// Whether there is to be a graphs controller; where nothing was applied, whether there is one.
    pub has_graphs: bool,
    /// Its Deployment.
    pub graphs: Option<Deployment>,
    /// Why nothing was applied.
    pub held: Option<Held>,
    /// What is amiss.
    pub troubles: Vec<Trouble>,
    /// Objects that the API server refused: worth another try.
    pub refused: usize,
}

/// The API server could not be asked. Nothing is known of the objects after the one that is named.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {error}")]
pub struct ApplyError {
    key: Key,
    error: CallError,
}

impl Applied {
    /// Everything stays as it was found.
    pub fn untouched(held: Held, dereferenced: Dereferenced) -> Self {
        let troubles = match &held {
            Held::Trouble(trouble) => vec![trouble.clone()],
            Held::Paused => Vec::new(),
        };
        let Dereferenced { deployment, graphs, .. } = dereferenced;
        Self { deployment, has_graphs: graphs.is_some(), graphs, held: Some(held), troubles, refused: 0 }
    }

    fn deployment_of(&mut self, program: Program) -> &mut Option<Deployment> {
        match program {
            Program::Broker => &mut self.deployment,
            Program::Graphs => &mut self.graphs,
        }
    }
}

/// Applies what is not yet so, and deletes what is no longer wanted. Nothing of it where the API server would refuse the
/// Deployment, or Secrets to it: the one that runs is to keep what it has.
pub async fn apply(context: &Context, built: Built, mut found: Dereferenced) -> Result<Applied, ApplyError> {
    let Built { owner, objects, has_graphs, troubles } = built;
    let mut listed = std::mem::take(&mut found.listed);
    let mut pairs = Vec::new();
    for desired in objects {
        let live = match listed.remove(&desired.key) {
            Some(live) => Some(live),
            None => call_opt(desired.key.api(&context.client).get(&desired.key.name))
                .await
                .map_err(|error| ApplyError { key: desired.key.clone(), error })?,
        };
        pairs.push((desired, live));
    }
    if let Some(trouble) = refused_beforehand(context, &owner, &pairs).await? {
        return Ok(Applied { refused: 1, ..Applied::untouched(Held::Trouble(trouble), found) });
    }
    let mut applied = Applied { deployment: None, has_graphs, graphs: None, held: None, troubles, refused: 0 };
    for (desired, live) in &pairs {
        let program = Program::ALL.into_iter().find(|program| desired.is_deployment_of(*program, &owner));
        let as_before = || match program {
            Some(Program::Broker) => found.deployment.clone(),
            Some(Program::Graphs) => found.graphs.clone(),
            None => None,
        };
        let there = match one(context, &owner, desired, live.clone()).await {
            Ok(object) => object.as_ref().filter(|_| program.is_some()).and_then(typed),
            Err(Failure::Conflict) => {
                applied.troubles.push(conflict(&owner, &desired.key));
                None
            }
            Err(Failure::Fight) => {
                applied.troubles.push(fight(&desired.key));
                as_before()
            }
            Err(Failure::Call(error)) if error.is_refusal() => {
                applied.refused += 1;
                applied.troubles.push(Trouble::new(APPLY_FAILED, &format!("{}: {error}", desired.key)));
                as_before()
            }
            Err(Failure::Call(error)) => return Err(ApplyError { key: desired.key.clone(), error }),
        };
        if let Some(program) = program {
            *applied.deployment_of(program) = there;
        }
    }
    let needed = |key: &Key| match bindings::program_of(&owner, key) {
        program @ Program::Broker => !is_replaced(applied.deployment.as_ref(), true, &found, program),
        program @ Program::Graphs => !is_replaced(applied.graphs.as_ref(), has_graphs, &found, program),
    };
    remove(context, &owner, listed, needed).await?;
    Ok(applied)
}

/// Whether no instance is left that may need more than what is to be: not one that is yet to be replaced, nor one that is
/// about to end, for it still hands over.
fn is_replaced(deployment: Option<&Deployment>, wanted: bool, found: &Dereferenced, program: Program) -> bool {
    let mut running = found.running(program);
    if wanted {
        let ending = running.any(|pod| pod.metadata.deletion_timestamp.is_some());
        deployment.is_none_or(is_rolled_out) && !ending
    } else {
        running.next().is_none()
    }
}

/// What the API server would not take of that without which no broker works, where it has to be written.
async fn refused_beforehand(
    context: &Context,
    owner: &Owner,
    pairs: &[(Desired, Option<DynamicObject>)],
) -> Result<Option<Trouble>, ApplyError> {
    let params = PatchParams::apply(NAME).force().dry_run();
    for (desired, live) in pairs {
        let reason = match desired.key.kind {
            OwnedKind::Deployment => INVALID_SPEC,
            OwnedKind::RoleBinding => APPLY_FAILED,
            _ => continue,
        };
        let live = live.as_ref();
        let is_written = decide(owner, desired, live, &context.memory) == Decision::Write;
        // What the obstacle would be refused for is not what a person did.
        if !is_written || live.is_some_and(|live| obstacle(desired, live).is_some()) {
            continue;
        }
        let api = desired.key.api(&context.client);
        match call(api.patch(&desired.key.name, &params, &Patch::Apply(&desired.object))).await {
            Ok(_) => {}
            // Not every admission webhook can be asked without meaning it.
            Err(error) if error.to_string().contains("dry run") => {}
            Err(error) if error.is_refusal() => {
                return Ok(Some(Trouble::new(reason, &format!("{}: {error}", desired.key))));
            }
            Err(error) => return Err(ApplyError { key: desired.key.clone(), error }),
        }
    }
    Ok(None)
}

enum Failure {
    Conflict,
    Fight,
    Call(CallError),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Makes one object so, and returns it. None: it is going, and what comes after it has to wait.
async fn one(
    context: &Context,
    owner: &Owner,
    desired: &Desired,
    live: Option<DynamicObject>,
) -> Result<Option<DynamicObject>, Failure> {
    let api = desired.key.api(&context.client);
    match decide(owner, desired, live.as_ref(), &context.memory) {
        Decision::Keep => return Ok(live),
        Decision::Wait => return Ok(None),
        Decision::Conflict => return Err(Failure::Conflict),
        Decision::Replace => {
            info!(object = %desired.key, "replacing");
            if let Some(live) = live {
                let gone = call_opt(api.delete(&desired.key.name, &precisely(&live))).await;
                gone.map_err(Failure::Call)?;
            }
        }
        Decision::Write if context.memory.is_fought(owner, desired) => return Err(Failure::Fight),
        Decision::Write => {
            if let Some(patch) = live.as_ref().and_then(|live| obstacle(desired, live)) {
                let params = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
                call(api.patch(&desired.key.name, &params, &Patch::Merge(patch))).await?;
            }
        }
    }
    let params = PatchParams::apply(NAME).force();
    let written = call(api.patch(&desired.key.name, &params, &Patch::Apply(&desired.object))).await?;
    info!(object = %desired.key, "applied");
    context.memory.remember(owner, desired, &written);
    Ok(Some(written))
}

/// Deletes what carries the Broker's label and is no longer wanted; what pods run with once it is no longer `needed`.
async fn remove(
    context: &Context,
    owner: &Owner,
    left: BTreeMap<Key, DynamicObject>,
    needed: impl Fn(&Key) -> bool,
) -> Result<(), ApplyError> {
    for (key, object) in left {
        let identity =
            matches!(key.kind, OwnedKind::ServiceAccount | OwnedKind::RoleBinding | OwnedKind::ClusterRoleBinding);
        if !is_leftover(owner, &key, &object) || identity && needed(&key) {
            continue;
        }
        match call_opt(key.api(&context.client).delete(&key.name, &precisely(&object))).await {
            Ok(_) => info!(object = %key, "deleted: no longer wanted"),
            // Another object has its name now.
            Err(error) if error.code() == Some(409) => {}
            Err(error) => return Err(ApplyError { key, error }),
        }
    }
    Ok(())
}

/// Whether an object is what an earlier pass made. People copy objects, labels and all: those have other names.
fn is_leftover(owner: &Owner, key: &Key, object: &DynamicObject) -> bool {
    let removable = match key.kind {
        // The broker's are always wanted.
        OwnedKind::Deployment | OwnedKind::NetworkPolicy => key.name == Program::Graphs.name(owner),
        OwnedKind::RoleBinding | OwnedKind::ClusterRoleBinding => {
            bindings::broker_of(&key.name) == Some((&owner.namespace, &owner.name))
        }
        OwnedKind::Service => key.name.ends_with("-metrics"),
        OwnedKind::ServiceAccount | OwnedKind::PodDisruptionBudget | OwnedKind::ServiceMonitor => {
            Program::ALL.into_iter().any(|program| key.name == program.name(owner))
        }
    };
    removable && owner.owns(&object.metadata) && object.metadata.deletion_timestamp.is_none()
}

/// This object and no other of its name.
pub(crate) fn precisely(object: &DynamicObject) -> DeleteParams {
    let preconditions = Preconditions { uid: object.metadata.uid.clone(), resource_version: None };
    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() }
}

fn fight(key: &Key) -> Trouble {
    let message = format!(
        "{key} is changed back again and again by somebody else, and left as it is for a while: `kubectl get --output yaml \
         --show-managed-fields` says by whom"
    );
    Trouble::new(FIGHTING, &message)
}

fn conflict(owner: &Owner, key: &Key) -> Trouble {
    let message = format!(
        "{key} is there already and is not Broker {}/{}'s: it is left as it is; delete or rename one of them",
        owner.namespace, owner.name
    );
    Trouble::new(NAME_CONFLICT, &message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_an_earlier_pass_made_is_left_over() {
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        let object: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "x", "labels": Program::Broker.labels(&owner)}}))
                .unwrap();
        let going: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "x", "labels": Program::Broker.labels(&owner),
                "deletionTimestamp": "2026-01-01T00:00:00Z"}}))
            .unwrap();
        for (kind, name, expected) in [
            (OwnedKind::PodDisruptionBudget, "b", true),
            (OwnedKind::PodDisruptionBudget, "copy", false),
            (OwnedKind::Service, "b-metrics", true),
            (OwnedKind::RoleBinding, "resource-broker:n:b:cluster-secrets", true),
            (OwnedKind::RoleBinding, "resource-broker:n:c:cluster-secrets", false),
            (OwnedKind::ClusterRoleBinding, "admins", false),
            (OwnedKind::Deployment, "copy", false),
            (OwnedKind::Deployment, "b", false),
            (OwnedKind::Deployment, "b-graphs", true),
            (OwnedKind::NetworkPolicy, "b-graphs", true),
            (OwnedKind::ServiceAccount, "b-graphs", true),
        ] {
            let key = Key { kind, namespace: None, name: name.into() };
            assert_eq!(is_leftover(&owner, &key, &object), expected, "{key}");
            assert!(!is_leftover(&owner, &key, &going), "{key}");
        }
    }
}
