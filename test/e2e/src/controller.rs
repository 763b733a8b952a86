//! `Controller`: what runs at a provider, and brings copies up.

use std::time::Duration;

use futures::{StreamExt as _, future::BoxFuture};
use kube::{
    Api,
    api::{
        DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
    },
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{Kind, Object, Place, kind::SECRET, place::CONTROLLER};

/// A pause after an answer that was no good: the API server may be gone.
const PAUSE: Duration = Duration::from_millis(50);

/// What is done for a copy whenever it comes or changes. What fails is done again.
pub type Serve = for<'a> fn(&'a Place, &'a Kind, &'a Object) -> BoxFuture<'a, kube::Result<()>>;

/// What runs at a provider: each copy of a kind in a namespace gets a Secret `<copy>-key`, which says whose it is and
/// belongs to the copy, and becomes `Available`. Dropping it ends it; its API server may come and go.
pub struct Controller(JoinHandle<()>);

impl Controller {
    /// Brings up what is there and what comes.
    pub fn start(place: &Place, kind: &Kind, namespace: &str) -> Self {
        Self::serving(place, kind, namespace, |place, kind, copy| Box::pin(bring_up(place, kind, copy)))
    }

    /// Does this for each object instead; an empty namespace is all of them.
    pub fn serving(place: &Place, kind: &Kind, namespace: &str, serve: Serve) -> Self {
        let (place, kind, namespace) = (place.clone(), *kind, namespace.to_owned());
        Self(tokio::spawn(async move {
            loop {
                let _ = work(&place, &kind, &namespace, serve).await;
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

async fn work(place: &Place, kind: &Kind, namespace: &str, serve: Serve) -> kube::Result<()> {
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

async fn bring_up(place: &Place, kind: &Kind, copy: &Object) -> kube::Result<()> {
    if copy.is_deleting() || copy.text("/status/status") == "Available" {
        return Ok(());
    }
    hand_out(place, kind, copy, &json!({"provider": place.name()}), json!({"status": "Available"})).await
}

/// Makes the copy's Secret `<copy>-key` with this content, or changes it, and then sets its status, with the Secret as a
/// related resource in it.
pub async fn hand_out(
    place: &Place,
    kind: &Kind,
    copy: &Object,
    content: &Value,
    mut status: Value,
) -> kube::Result<()> {
    let (namespace, name) = (copy.namespace(), copy.name());
    let key = format!("{name}-key");
    let owner = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name, "uid": copy.uid()});
    let secret =
        SECRET.object(namespace, &key, &json!({"metadata": {"ownerReferences": [owner]}, "stringData": content}));
    let secret: DynamicObject = serde_json::from_value(secret).unwrap();
    let secrets = place.api(&SECRET, namespace);
    match secrets.create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(refused)) if refused.code == 409 => {
            let held = Object::from(secrets.get(&key).await?);
            if held.text("/metadata/ownerReferences/0/uid") != copy.uid() {
                // That of an earlier copy of this name would go with its owner, sooner or later.
                let only_this = Preconditions { uid: Some(held.uid().to_owned()), ..Preconditions::default() };
                secrets.delete(&key, &DeleteParams::default().preconditions(only_this)).await?;
                return Err(kube::Error::Api(refused));
            }
            let content = Patch::Merge(json!({"stringData": content}));
            secrets.patch(&key, &PatchParams::default(), &content).await?;
        }
        Err(error) => return Err(error),
    }
    status["relatedResources"] = json!({"key": {"gvk": SECRET.gvk(), "name": key, "namespace": namespace}});
    let api: Api<DynamicObject> = place.api(kind, namespace);
    let params = PatchParams { field_manager: Some(CONTROLLER.to_owned()), ..PatchParams::default() };
    match api.patch_status(name, &params, &Patch::Merge(json!({"status": status}))).await {
        // It went meanwhile.
        Err(kube::Error::Api(refused)) if refused.code == 404 => Ok(()),
        done => done.map(drop),
    }
}
