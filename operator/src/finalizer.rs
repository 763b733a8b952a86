//! The mark that keeps a Broker until what it has outside of its namespace is gone.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::{
    NAME,
    call::{CallError, call, call_opt},
    context::Context,
    dereference::brokers,
    owner::Owner,
};

/// Finalizer on Brokers.
pub const FINALIZER: &str = "operator.broker.platform-mesh.io/finalizer";

fn has(broker: &DynamicObject) -> bool {
    broker.metadata.finalizers.iter().flatten().any(|name| name == FINALIZER)
}

/// Sets it, before anything is made that only it keeps from being forgotten.
pub async fn set(context: &Context, owner: &Owner, broker: &DynamicObject) -> Result<(), CallError> {
    if has(broker) {
        return Ok(());
    }
    let mut finalizers = broker.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(FINALIZER.to_owned());
    call(write(context, owner, broker, finalizers)).await.map(|_| ())
}

/// Takes it away.
pub async fn remove(context: &Context, owner: &Owner, broker: &DynamicObject) -> Result<(), CallError> {
    if !has(broker) {
        return Ok(());
    }
    let kept = broker.metadata.finalizers.iter().flatten().filter(|name| *name != FINALIZER).cloned().collect();
    call_opt(write(context, owner, broker, kept)).await.map(|_| ())
}

/// On the version that was read: a merge patch replaces the whole list, and others may have theirs in it.
async fn write(
    context: &Context,
    owner: &Owner,
    broker: &DynamicObject,
    finalizers: Vec<String>,
) -> kube::Result<DynamicObject> {
    let metadata =
        json!({"finalizers": finalizers, "uid": owner.uid, "resourceVersion": broker.metadata.resource_version});
    let patch = Patch::Merge(json!({"metadata": metadata}));
    let params = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
    brokers(&context.client, &owner.namespace).patch(&owner.name, &params, &patch).await
}
