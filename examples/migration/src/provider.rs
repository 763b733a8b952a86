//! The controller of `keyvalue-provider`: what belongs to a KeyValue, and its status. Writes only what differs.
//!
//! A KeyValue `cart` has a ConfigMap `cart-data`, which is its storage, and a Secret `cart-access`, which is how its
//! users reach it. Both are owned by it, so they go with it. Only the Secret is told of in `status.relatedResources`,
//! and so reaches the consumer and the Jobs of a migration.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc, time::Duration};

use broker_api::{
    brokered_status::{Availability, BrokeredStatus, RelatedResource},
    condition::{self, READY, set_condition},
    generic::databases::KeyValue,
    gvk::Gvk,
};
use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    runtime::{Controller, controller::Action, reflector::ObjectRef, watcher},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::access::Access;

/// Field manager of what this provider writes, and the value of [`LABEL`] on what it makes.
pub const MANAGER: &str = "keyvalue-provider";
/// Label of what it makes; it watches only ConfigMaps and Secrets that have it.
pub const LABEL: &str = "app.kubernetes.io/managed-by";
/// Key of the Secret in `status.relatedResources`.
pub const RELATED: &str = "access";

/// When an object is looked at again whose pass failed.
const RETRY: Duration = Duration::from_secs(1);

/// Name of the ConfigMap that keeps the data of a KeyValue.
pub fn data_name(key_value: &str) -> String {
    format!("{key_value}-data")
}

/// Name of the Secret that says how a KeyValue is reached.
pub fn secret_name(key_value: &str) -> String {
    format!("{key_value}-access")
}

/// Why a pass failed. The object is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// An object of the name that is needed belongs to somebody else, perhaps to a KeyValue that was deleted just now.
    #[error("{0} is there and not this KeyValue's: delete or rename it")]
    Taken(String),
    /// The object does not come from an API server.
    #[error("the KeyValue has no name, namespace or uid")]
    Nowhere,
    /// The API server did not answer as hoped.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// What every pass needs.
pub struct Context {
    /// The provider's cluster.
    pub client: Client,
    /// Where the stores answer, such as `http://10.0.0.1:7379`.
    pub url: String,
}

/// Serves every KeyValue of the cluster until the process is told to end.
pub async fn run(context: Context) {
    let ours = || watcher::Config::default().labels(&format!("{LABEL}={MANAGER}"));
    Controller::new(Api::<KeyValue>::all(context.client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(context.client.clone()), ours())
        .owns(Api::<Secret>::all(context.client.clone()), ours())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(RETRY), Arc::new(context))
        .for_each(|result| async {
            if let Err(error) = result {
                tracing::warn!("{error}");
            }
        })
        .await;
}

/// One pass over one KeyValue.
async fn reconcile(key_value: Arc<KeyValue>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    if key_value.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let told = key_value.status.as_ref().is_some_and(|status| status.status.is_some());
    if !told {
        report(&key_value, &context, Availability::Provisioning, "Making", "the store is being made").await?;
    }
    match provide(&key_value, &context).await {
        Ok(url) => {
            let message = format!("the store answers at {url}");
            report(&key_value, &context, Availability::Available, "Serving", &message).await?;
            Ok(Action::await_change())
        }
        Err(error @ ReconcileError::Taken(_)) => {
            report(&key_value, &context, Availability::Failed, "NameTaken", &error.to_string()).await?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// Sees to ConfigMap and Secret. Returns where the store is.
async fn provide(key_value: &KeyValue, context: &Context) -> Result<String, ReconcileError> {
    let name = key_value.meta().name.as_deref().ok_or(ReconcileError::Nowhere)?;
    let namespace = key_value.namespace().ok_or(ReconcileError::Nowhere)?;
    let url = format!("{}/stores/{namespace}/{name}", context.url);

    let stores = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
    let empty = ConfigMap { metadata: owned(key_value, data_name(name))?, ..ConfigMap::default() };
    ensure(&stores, key_value, empty).await?;

    let secrets = Api::<Secret>::namespaced(context.client.clone(), &namespace);
    let fresh = Access::generate(url.clone());
    let metadata = owned(key_value, secret_name(name))?;
    let wanted = Secret { metadata, data: Some(fresh.to_data()), ..Secret::default() };
    let held = ensure(&secrets, key_value, wanted).await?;
    // Another address, or somebody edited it. The token stays while it can be read.
    let token = Access::from_secret(&held).map_or(fresh.token, |access| access.token);
    let access = Access { url: url.clone(), token };
    if Access::from_secret(&held).as_ref() != Some(&access) {
        let patch = Patch::Merge(json!({ "data": access.to_data() }));
        secrets.patch(&secret_name(name), &PatchParams::default(), &patch).await?;
    }
    Ok(url)
}

/// The object as it is, made if it is not there.
async fn ensure<K>(api: &Api<K>, key_value: &KeyValue, wanted: K) -> Result<K, ReconcileError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let name = wanted.name_any();
    let Some(held) = api.get_opt(&name).await? else {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        return Ok(api.create(&params, &wanted).await?);
    };
    let ours = held.owner_references().iter().any(|owner| Some(&owner.uid) == key_value.meta().uid.as_ref());
    if ours { Ok(held) } else { Err(ReconcileError::Taken(format!("{} {name}", K::kind(&())))) }
}

fn owned(key_value: &KeyValue, name: String) -> Result<ObjectMeta, ReconcileError> {
    Ok(ObjectMeta {
        name: Some(name),
        namespace: key_value.namespace(),
        labels: Some(BTreeMap::from([(LABEL.to_owned(), MANAGER.to_owned())])),
        owner_references: Some(vec![key_value.controller_owner_ref(&()).ok_or(ReconcileError::Nowhere)?]),
        ..ObjectMeta::default()
    })
}

async fn report(
    key_value: &KeyValue,
    context: &Context,
    availability: Availability,
    reason: &str,
    message: &str,
) -> Result<(), ReconcileError> {
    let Some(status) = status(key_value, availability, reason, message) else {
        return Ok(());
    };
    let name = key_value.name_any();
    let namespace = key_value.namespace().ok_or(ReconcileError::Nowhere)?;
    let patch = json!({
        "apiVersion": KeyValue::api_version(&()),
        "kind": KeyValue::kind(&()),
        // With the uid, a KeyValue that was recreated under the same name is not told of its predecessor.
        "metadata": { "name": name, "uid": key_value.meta().uid },
        "status": status,
    });
    let key_values = Api::<KeyValue>::namespaced(context.client.clone(), &namespace);
    key_values.patch_status(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(patch)).await?;
    tracing::info!(key_value = %ObjectRef::from(key_value), ?availability, message);
    Ok(())
}

/// The status, or `None` when the KeyValue has it already: then nothing is written.
fn status(key_value: &KeyValue, availability: Availability, reason: &str, message: &str) -> Option<BrokeredStatus> {
    let held = key_value.status.clone().unwrap_or_default();
    let mut conditions: Vec<_> = held.conditions.into_iter().filter(|held| held.type_ == READY).collect();
    let available = availability == Availability::Available;
    let generation = key_value.metadata.generation;
    let ready = condition::condition(READY, available, reason, message, generation, Timestamp::now());
    let changed = set_condition(&mut conditions, ready);
    let mut related_resources = BTreeMap::new();
    if available {
        let gvk = Gvk { group: "core".to_owned(), version: "v1".to_owned(), kind: "Secret".to_owned() };
        let name = secret_name(&key_value.name_any());
        related_resources.insert(RELATED.to_owned(), RelatedResource { gvk, name, namespace: key_value.namespace() });
    }
    let same = !changed && held.status == Some(availability) && held.related_resources == related_resources;
    (!same).then_some(BrokeredStatus { conditions, related_resources, status: Some(availability) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_status_is_written_once() {
        let mut key_value = KeyValue::new("cart", broker_api::generic::databases::KeyValueSpec::default());
        key_value.metadata.generation = Some(1);
        let first = status(&key_value, Availability::Provisioning, "Making", "soon").unwrap();
        assert!(first.related_resources.is_empty());
        key_value.status = Some(first);
        assert_eq!(status(&key_value, Availability::Provisioning, "Making", "soon"), None);
        let second = status(&key_value, Availability::Available, "Serving", "here").unwrap();
        assert_eq!(second.related_resources[RELATED].name, "cart-access");
        key_value.status = Some(second);
        assert_eq!(status(&key_value, Availability::Available, "Serving", "here"), None);
        key_value.metadata.generation = Some(2);
        let third = status(&key_value, Availability::Available, "Serving", "here").unwrap();
        assert_eq!(third.conditions[0].observed_generation, Some(2));
    }
}
