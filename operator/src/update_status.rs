//! Writes a Broker's status where it differs from what is there, and tells what turned.

use broker_api::broker::BrokerStatus;
use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use tracing::debug;

use crate::{
    NAME,
    apply::Applied,
    call::{CallError, call_opt},
    context::Context,
    dereference::brokers,
    events,
    owner::Owner,
    status::{degraded_only, status},
    trouble::Trouble,
};

/// Makes a Broker's status what the pass found.
pub async fn update_status(
    context: &Context,
    owner: &Owner,
    broker: &DynamicObject,
    applied: &Applied,
    pods: &[Pod],
) -> Result<(), CallError> {
    // A status that cannot be read is no status.
    let previous: BrokerStatus = serde_json::from_value(broker.data["status"].clone()).unwrap_or_default();
    let new = status(&previous, broker.metadata.generation, applied, pods, Timestamp::now());
    write(context, owner, previous, new).await
}

/// Says in condition Degraded why a pass could not come to its end, and leaves what the others say: nothing new is known.
/// Best effort: the pass is tried again in any case.
pub async fn tell_trouble(context: &Context, owner: &Owner, broker: &DynamicObject, trouble: &Trouble) {
    let previous: BrokerStatus = serde_json::from_value(broker.data["status"].clone()).unwrap_or_default();
    let new = degraded_only(&previous, broker.metadata.generation, trouble, Timestamp::now());
    if let Err(error) = write(context, owner, previous, new).await {
        debug!(%error, "the trouble could not be told");
    }
}

async fn write(context: &Context, owner: &Owner, previous: BrokerStatus, new: BrokerStatus) -> Result<(), CallError> {
    if new == previous {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"metadata": {"uid": owner.uid}, "status": new}));
    let params = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
    let written =
        call_opt(brokers(&context.client, &owner.namespace).patch_status(&owner.name, &params, &patch)).await?;
    if written.is_some() {
        events::tell(context, owner, &previous, &new).await;
    }
    Ok(())
}
