//! `Controller`: what runs at a provider, and brings copies up.

use std::time::Duration;

use futures::StreamExt as _;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{Kind, Object, Place, kind::SECRET, place::CONTROLLER};

/// A pause after an answer that was no good: the API server may be gone.
const PAUSE: Duration = Duration::from_millis(50);

/// What runs at a provider: each copy of a kind in a namespace gets a Secret `<copy>-key`, which says whose it is and
/// belongs to the copy, and becomes `Available`. Dropping it ends it; its API server may come and go.
pub struct Controller(JoinHandle<()>);

impl Controller {
    /// Brings up what is there and what comes.
    pub fn start(place: &Place, kind: &Kind, namespace: &str) -> Self {
        let (place, kind, namespace) = (place.clone(), *kind, namespace.to_owned());
        Self(tokio::spawn(async move {
            loop {
                let _ = work(&place, &kind, &namespace).await;
                tokio::time::sleep(PAUSE).await;
            }
        }))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn work(place: &Place, kind: &Kind, namespace: &str) -> kube::Result<()> {
    let api = place.api(kind, namespace);
    let listed = api.list(&ListParams::default()).await?;
    let version = listed.metadata.resource_version.clone().unwrap_or_default();
    for object in listed.items {
        serve(place, kind, &Object::from(object)).await?;
    }
    let mut told = api.watch(&WatchParams::default(), &version).await?.boxed();
    while let Some(event) = told.next().await {
        match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                serve(place, kind, &Object::from(object)).await?;
            }
            WatchEvent::Error(_) => return Ok(()),
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
        }
    }
    Ok(())
}

async fn serve(place: &Place, kind: &Kind, copy: &Object) -> kube::Result<()> {
    if copy.is_deleting() || copy.text("/status/status") == "Available" {
        return Ok(());
    }
    let (namespace, name) = (copy.namespace(), copy.name());
    let owner = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name, "uid": copy.uid()});
    let secret = SECRET.object(
        namespace,
        &format!("{name}-key"),
        &json!({"metadata": {"ownerReferences": [owner]}, "stringData": {"provider": place.name()}}),
    );
    let secret: DynamicObject = serde_json::from_value(secret).unwrap();
    match place.api(&SECRET, namespace).create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {
            // That of an earlier copy of this name would go with its owner, sooner or later.
            let secrets = place.api(&SECRET, namespace);
            let held = Object::from(secrets.get(&format!("{name}-key")).await?);
            if held.text("/metadata/ownerReferences/0/uid") != copy.uid() {
                secrets.delete(held.name(), &DeleteParams::default()).await?;
                return Err(kube::Error::Api(status));
            }
        }
        Err(error) => return Err(error),
    }
    let related = json!({"key": {"gvk": SECRET.gvk(), "name": format!("{name}-key"), "namespace": namespace}});
    let status = json!({"status": {"status": "Available", "relatedResources": related}});
    let api: Api<DynamicObject> = place.api(kind, namespace);
    let params = PatchParams { field_manager: Some(CONTROLLER.to_owned()), ..PatchParams::default() };
    match api.patch_status(name, &params, &Patch::Merge(status)).await {
        // It went meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        done => done.map(drop),
    }
}
