//! `Listed`: what a provider lists as related to an object.

use serde_json::{Value, json};

use crate::{
    Kind, Object, Place, Scene, Told, World,
    kind::{CERTIFICATE, CONFIG_MAP},
};

/// A served object with a ConfigMap `good` that its provider lists, to which tests add what is refused.
pub struct Listed<'a> {
    /// Where it is.
    pub scene: Scene<'a>,
    consumer: &'a Place,
    provider: &'a Place,
    copy: Object,
}

impl<'a> Listed<'a> {
    /// One in a part of `world` called `name`. `accept` is what its AcceptAPI says besides.
    pub async fn new(name: &str, consumer: &'a Place, provider: &'a Place, accept: Value, world: &'a World) -> Self {
        let scene = Scene::new(world, name, &[consumer]).await;
        let mut accept = if accept.is_object() { accept } else { json!({}) };
        accept["relatedNames"] = json!(["*"]);
        scene.accept(provider, accept).await;
        scene.certificate(consumer, "www").await;
        let copy = scene.copy(consumer, "www", provider).await;
        provider.create(&CONFIG_MAP, scene.ns(), "good", json!({"data": {"a": "b"}})).await;
        Self { scene, consumer, provider, copy }
    }

    /// Lists `entries` beside the good one, and waits until the good one has arrived.
    pub async fn list(&self, entries: Value) {
        let mut related = entries;
        related["good"] = json!({"gvk": CONFIG_MAP.gvk(), "name": "good"});
        let ns = self.scene.ns();
        self.provider.set_status(&CERTIFICATE, ns, self.copy.name(), json!({"relatedResources": related})).await;
        self.consumer.until_there(&CONFIG_MAP, ns, "good").await;
    }

    /// Waits until an Event says with these words that an entry is refused.
    pub async fn refused(&self, words: &str) {
        let told = |event: &Told| event.message.contains(words);
        self.consumer.until_event(self.scene.ns(), "www", "RelatedRefused", told).await;
    }

    /// Asserts that the consumer's namespace has no other object of these kinds than the good one.
    pub async fn nothing_else(&self, kinds: &[Kind]) {
        self.scene.barrier(self.consumer, self.provider).await;
        for kind in kinds {
            let here = self.consumer.list(kind, self.scene.ns()).await;
            let mut names = here.iter().map(Object::name).filter(|name| !["good", "kube-root-ca.crt"].contains(name));
            assert_eq!(names.next(), None, "{here:?}");
        }
    }
}
