//! A Broker that goes: what references to owners do not reach is deleted here, the rest by the garbage collector.

use kube::api::{DynamicObject, ListParams};
use tracing::info;

use crate::{
    apply::precisely,
    build::bindings,
    call::{CallError, call, call_opt},
    context::Context,
    desired::{Key, OwnedKind},
    finalizer,
    owner::Owner,
};

/// Something could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("cannot delete {what}: {error}")]
pub struct CleanupError {
    what: String,
    error: CallError,
}

impl CleanupError {
    /// Whether asking again is in vain until somebody changes something.
    pub fn is_refusal(&self) -> bool {
        self.error.is_refusal()
    }
}

/// Deletes the bindings of a Broker, wherever they are, and lets the Broker go.
pub async fn clean(context: &Context, owner: &Owner, broker: &DynamicObject) -> Result<(), CleanupError> {
    let failed = |what: String| move |error| CleanupError { what, error };
    for kind in [OwnedKind::ClusterRoleBinding, OwnedKind::RoleBinding] {
        let labelled = ListParams::default().labels(&owner.selector());
        let list = call(kind.api(&context.client, None).list(&labelled)).await;
        for object in list.map_err(failed(format!("{kind:?}s")))?.items {
            let key = Key::of(kind, &object);
            // The garbage collector's, together with the pods, which release their lease in the end; or somebody else's
            // object that was copied with its labels.
            let named = bindings::broker_of(&key.name) == Some((&owner.namespace, &owner.name));
            if !named || !owner.owns(&object.metadata) {
                continue;
            }
            match call_opt(key.api(&context.client).delete(&key.name, &precisely(&object))).await {
                Ok(_) => info!(object = %key, "deleted with its Broker"),
                // Another object has its name now.
                Err(error) if error.code() == Some(409) => {}
                Err(error) => return Err(CleanupError { what: key.to_string(), error }),
            }
        }
    }
    let what = format!("Broker {}/{}", owner.namespace, owner.name);
    finalizer::remove(context, owner, broker).await.map_err(failed(what))?;
    context.memory.forget(owner);
    Ok(())
}
