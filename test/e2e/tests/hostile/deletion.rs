//! A provider's finalizers and replays hold nobody hostage without a word.

use broker_api::keys;
use e2e::{Object, Place, Scene, kind::CERTIFICATE};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, WORLD};

/// A provider's finalizer.
pub(crate) const HOLD: &str = "theirs.test/hold";

async fn hold(provider: &Place, copy: &Object, held: bool) {
    let finalizers = if held { json!([HOLD]) } else { Value::Null };
    let patch = json!({"metadata": {"finalizers": finalizers}});
    provider.edit(&CERTIFICATE, copy.namespace(), copy.name(), patch).await;
}

/// Makes an object as a backup has it: what it was, without what its API server had added.
async fn put_back(provider: &Place, saved: &Object) {
    let mut body = saved.0.clone();
    let metadata = json!({
        "labels": saved.at("/metadata/labels"), "annotations": saved.at("/metadata/annotations"), "finalizers": [HOLD],
    });
    body["metadata"] = metadata;
    body.as_object_mut().unwrap().remove("status");
    provider.create(&CERTIFICATE, saved.namespace(), saved.name(), body).await;
}

/// An object that ariadne has served and that is gone, whose copy ariadne has put back.
async fn replayed(scene: &Scene<'_>, consumer: &Place, ariadne: &Place, name: &str) -> Object {
    scene.certificate(consumer, name).await;
    let saved = scene.copy(consumer, name, ariadne).await;
    consumer.delete(&CERTIFICATE, scene.ns(), name).await;
    consumer.until_gone(&CERTIFICATE, scene.ns(), name).await;
    put_back(ariadne, &saved).await;
    // It is an orphan, and is asked to go.
    scene.copy_until(consumer, name, ariadne, "to be on its way out", Object::is_deleting).await
}

#[test]
fn a_copy_that_its_provider_holds_is_named_and_a_person_may_let_go_of_it() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "hostile-held", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        hold(ariadne, &copy, true).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        let held = |seen: &Object| seen.has("Brokered", "False", "HeldByProvider");
        let origin = scene.until(homer, "www", "to say who holds it", held).await;
        let told = origin.condition("Brokered").unwrap().message;
        assert!(told.contains(ARIADNE) && told.contains(HOLD) && told.contains(keys::FORCE_DELETE), "{told}");
        homer.until_event(scene.ns(), "www", "HeldByProvider", |event| event.message.contains(HOLD)).await;
        assert_eq!(origin.finalizers(), [keys::FINALIZER], "nobody has released it yet");

        let force = json!({"metadata": {"annotations": {keys::FORCE_DELETE: "true"}}});
        homer.edit(&CERTIFICATE, scene.ns(), "www", force).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_event(scene.ns(), "www", "ForceDeleted", |event| event.message.contains(HOLD)).await;
        // What is left goes when its provider lets go of it.
        assert!(scene.find_copy(homer, "www", ariadne).await.unwrap().is_deleting());
        hold(ariadne, &copy, false).await;
        ariadne.until_gone(&CERTIFICATE, scene.ns(), copy.name()).await;
    });
}

#[test]
fn a_saved_copy_put_back_blocks_the_name_at_its_own_provider_only() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "hostile-replay", &[homer]).await;
        // Else it goes with the last copy.
        ariadne.make_namespace(scene.ns()).await;
        scene.accept(ariadne, json!({"priority": 1})).await;
        let (mut copies, names) = (Vec::new(), ["www", "sole"]);
        for name in names {
            copies.push(replayed(&scene, homer, ariadne, name).await);
        }
        scene.accept(theseus, json!({"filters": [{"key": "fqdn", "prefix": "www"}]})).await;
        for name in names {
            scene.certificate(homer, name).await;
        }
        // One is served elsewhere, and told why not there.
        let copy = scene.copy(homer, "www", theseus).await;
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        scene.until(homer, "www", "its status", |seen| seen.text("/status/status") == "Available").await;
        let names_both = |message: &str| message.contains(ARIADNE) && message.contains(HOLD);
        homer.until_event(scene.ns(), "www", "HeldByProvider", |event| names_both(&event.message)).await;
        // The other has nowhere else to go, and says so, until its provider lets go.
        let held = |seen: &Object| seen.has("Brokered", "False", "HeldByProvider");
        let origin = scene.until(homer, "sole", "to say who holds its place", held).await;
        assert!(names_both(&origin.condition("Brokered").unwrap().message), "{origin}");
        for copy in &copies {
            hold(ariadne, copy, false).await;
        }
        let own = |seen: &Object| seen.annotation(keys::CONSUMER_UID) == Some(origin.uid());
        scene.copy_until(homer, "sole", ariadne, "to be its own", own).await;
        assert!(scene.find_copy(homer, "www", theseus).await.is_some(), "it stays where it is");
    });
}
