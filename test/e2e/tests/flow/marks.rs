//! What people may set on an object: `ignore` and `paused`.

use broker_api::keys;
use e2e::{Object, Scene, kind::CERTIFICATE};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, WORLD};

/// A patch of one annotation; null removes it.
fn annotation(key: &str, value: Value) -> Value {
    let mut patch = json!({"metadata": {"annotations": {}}});
    patch["metadata"]["annotations"][key] = value;
    patch
}

/// A patch of one label; null removes it.
fn label(key: &str, value: Value) -> Value {
    let mut patch = json!({"metadata": {"labels": {}}});
    patch["metadata"]["labels"][key] = value;
    patch
}

#[test]
fn an_ignored_object_is_not_touched_until_the_label_goes() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "marks-ignore", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let mut body = label(keys::IGNORE, json!("true"));
        body["spec"] = json!({"fqdn": scene.fqdn("www")});
        let created = homer.create(&CERTIFICATE, scene.ns(), "www", body).await;
        scene.barrier(homer, ariadne).await;
        let seen = homer.get(&CERTIFICATE, scene.ns(), "www").await;
        assert_eq!(seen.version(), created.version(), "nothing was written to it: {seen}");
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());

        // Only "true" says so.
        homer.edit(&CERTIFICATE, scene.ns(), "www", label(keys::IGNORE, json!("false"))).await;
        scene.copy(homer, "www", ariadne).await;
    });
}

#[test]
fn an_ignored_object_that_was_served_is_left_as_it_is() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "marks-ignore-later", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        scene.copy(homer, "www", ariadne).await;
        scene.barrier(homer, ariadne).await;
        let mut edit = label(keys::IGNORE, json!("true"));
        edit["spec"] = json!({"fqdn": scene.fqdn("later")});
        homer.edit(&CERTIFICATE, scene.ns(), "www", edit).await;
        scene.barrier(homer, ariadne).await;
        let copy = scene.copy(homer, "www", ariadne).await;
        assert_eq!(copy.text("/spec/fqdn"), scene.fqdn("www"));
        // Deleting it still takes the copy along.
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
    });
}

#[test]
fn a_paused_object_stands_still_in_both_directions_and_catches_up() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "marks-paused", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        scene.until(homer, "www", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;

        homer.edit(&CERTIFICATE, scene.ns(), "www", annotation(keys::PAUSED, json!("true"))).await;
        scene.barrier(homer, ariadne).await;
        let paused = homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("new")}})).await;
        let told = ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Failed"})).await;
        scene.barrier(homer, ariadne).await;
        let same = |place: &str, seen: &Object, before: &Object| {
            assert_eq!(seen.version(), before.version(), "{place} was written to: {seen}");
        };
        same("the origin", &homer.get(&CERTIFICATE, scene.ns(), "www").await, &paused);
        same("the copy", &scene.copy(homer, "www", ariadne).await, &told);

        homer.edit(&CERTIFICATE, scene.ns(), "www", annotation(keys::PAUSED, Value::Null)).await;
        let caught_up = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("new");
        scene.copy_until(homer, "www", ariadne, "the edit", caught_up).await;
        scene.until(homer, "www", "the status", |seen| seen.text("/status/status") == "Failed").await;
    });
}

#[test]
fn the_deletion_of_a_paused_object_waits() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "marks-paused-delete", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        scene.copy(homer, "www", ariadne).await;
        homer.edit(&CERTIFICATE, scene.ns(), "www", annotation(keys::PAUSED, json!("true"))).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        scene.barrier(homer, ariadne).await;
        assert!(!scene.copy(homer, "www", ariadne).await.is_deleting());
        assert_eq!(homer.get(&CERTIFICATE, scene.ns(), "www").await.finalizers(), [keys::FINALIZER]);
        homer.edit(&CERTIFICATE, scene.ns(), "www", annotation(keys::PAUSED, Value::Null)).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
    });
}
