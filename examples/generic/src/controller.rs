//! One controller per kind: sees to the product, then to the status. Writes only what differs.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    ByteString, NamespaceResourceScope,
    api::core::v1::{ConfigMap, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::{Controller, controller::Action, reflector::ObjectRef, watcher},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    product::{Data, Generic, Refusal, Site, Vessel, product_name},
    status,
};

/// Field manager of what this provider writes, and the value of [`LABEL`] on what it makes.
pub const MANAGER: &str = "generic-provider";
/// Label of what it makes; it watches only Secrets and ConfigMaps that have it.
pub const LABEL: &str = "app.kubernetes.io/managed-by";

/// When an object is looked at again whose pass failed.
const RETRY: Duration = Duration::from_secs(1);

/// Why a pass failed. The object is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The object does not come from an API server.
    #[error("the object has no name, namespace or uid")]
    Nowhere,
    /// The API server did not answer as hoped.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// What every pass needs.
pub struct Context {
    /// The provider's cluster.
    pub client: Client,
    /// Where it is.
    pub site: Site,
}

/// A kind of which products are made.
trait Product:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
    fn holding(metadata: ObjectMeta, data: Data) -> Self;
    fn content(self) -> Data;
}

impl Product for ConfigMap {
    fn holding(metadata: ObjectMeta, data: Data) -> Self {
        Self { metadata, data: Some(data), ..Self::default() }
    }

    fn content(self) -> Data {
        self.data.unwrap_or_default()
    }
}

impl Product for Secret {
    fn holding(metadata: ObjectMeta, data: Data) -> Self {
        let data = data.into_iter().map(|(key, text)| (key, ByteString(text.into_bytes()))).collect();
        Self { metadata, data: Some(data), ..Self::default() }
    }

    fn content(self) -> Data {
        let text = |bytes: ByteString| String::from_utf8(bytes.0).unwrap_or_default();
        self.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, text(bytes))).collect()
    }
}

/// Serves every object of a kind until the process is told to end.
pub async fn run<K: Generic>(context: Arc<Context>) {
    let ours = || watcher::Config::default().labels(&format!("{LABEL}={MANAGER}"));
    let controller = Controller::new(Api::<K>::all(context.client.clone()), watcher::Config::default());
    let controller = match K::VESSEL {
        Vessel::Secret => controller.owns(Api::<Secret>::all(context.client.clone()), ours()),
        Vessel::ConfigMap => controller.owns(Api::<ConfigMap>::all(context.client.clone()), ours()),
    };
    controller
        .shutdown_on_signal()
        .run(reconcile::<K>, |_, _, _| Action::requeue(RETRY), context)
        .for_each(|result| async {
            if let Err(error) = result {
                tracing::warn!("{error}");
            }
        })
        .await;
}

/// One pass over one object.
async fn reconcile<K: Generic>(object: Arc<K>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let made = match K::VESSEL {
        Vessel::Secret => provide::<K, Secret>(&object, &context).await?,
        Vessel::ConfigMap => provide::<K, ConfigMap>(&object, &context).await?,
    };
    let Some(status) = status::build(&*object, made.as_deref(), Timestamp::now()) else {
        return Ok(Action::await_change());
    };
    let namespace = object.namespace().ok_or(ReconcileError::Nowhere)?;
    let name = object.name_any();
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        // With the uid, an object that was recreated under the same name is not told of its predecessor.
        "metadata": { "name": name, "uid": object.meta().uid },
        "status": status,
    });
    let objects = Api::<K>::namespaced(context.client.clone(), &namespace);
    objects.patch_status(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(patch)).await?;
    tracing::info!(object = %ObjectRef::from(&*object), availability = ?status.status);
    Ok(Action::await_change())
}

/// Sees to the product. Returns what there is to say of it.
async fn provide<K: Generic, P: Product>(
    object: &K,
    context: &Context,
) -> Result<Result<String, Refusal>, ReconcileError> {
    let name = object.meta().name.as_deref().ok_or(ReconcileError::Nowhere)?;
    let namespace = object.namespace().ok_or(ReconcileError::Nowhere)?;
    let products = Api::<P>::namespaced(context.client.clone(), &namespace);
    let name = product_name::<K>(name);
    let held = products.get_opt(&name).await?;
    let owner = object.controller_owner_ref(&()).ok_or(ReconcileError::Nowhere)?;
    if held.as_ref().is_some_and(|held| !held.owner_references().contains(&owner)) {
        let message = format!("{} {name} is there and not this object's: delete or rename it", P::kind(&()));
        return Ok(Err(Refusal { reason: "NameTaken", message }));
    }
    let data = held.map(P::content);
    let made = match object.make(data.as_ref().unwrap_or(&Data::new()), &context.site) {
        Ok(made) => made,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if data.as_ref() != Some(&made.data) {
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            labels: Some(BTreeMap::from([(LABEL.to_owned(), MANAGER.to_owned())])),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        };
        let wanted = P::holding(metadata, made.data);
        products.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&wanted)).await?;
    }
    Ok(Ok(made.message))
}
