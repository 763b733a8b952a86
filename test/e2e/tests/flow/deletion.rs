//! Objects go: copies first, then the finalizer; and nothing is left behind.

use broker_api::keys;
use e2e::{
    Object, Place, Scene,
    kind::{CERTIFICATE, CONFIG_MAP, NAMESPACE},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

const HOLD: &str = "e2e.test/hold";

/// Puts a finalizer of the provider's on a copy, or takes it off.
async fn hold(provider: &Place, copy: &Object, held: bool) {
    let finalizers = if held { json!([HOLD]) } else { Value::Null };
    let patch = json!({"metadata": {"finalizers": finalizers}});
    provider.edit(&CERTIFICATE, copy.namespace(), copy.name(), patch).await;
}

#[test]
fn the_finalizer_leaves_only_when_the_copy_is_really_gone() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-held", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        hold(ariadne, &copy, true).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        scene.copy_until(homer, "www", ariadne, "to be on its way out", Object::is_deleting).await;
        // The provider takes its time, and may still say how it goes.
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Deleting"})).await;
        scene.barrier(homer, ariadne).await;
        let origin = homer.get(&CERTIFICATE, scene.ns(), "www").await;
        assert_eq!(origin.finalizers(), [keys::FINALIZER]);
        hold(ariadne, &copy, false).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
    });
}

#[test]
fn other_finalizers_of_the_origin_are_left_to_their_owners() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-others", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let body = json!({"metadata": {"finalizers": [HOLD]}, "spec": {"fqdn": scene.fqdn("www")}});
        homer.create(&CERTIFICATE, scene.ns(), "www", body).await;
        let copy = scene.copy(homer, "www", ariadne).await;
        assert_eq!(copy.finalizers(), [""; 0], "finalizers do not travel");
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        ariadne.until_gone(&CERTIFICATE, scene.ns(), copy.name()).await;
        scene.until(homer, "www", "ours to have gone", |seen| seen.finalizers() == [HOLD]).await;
        // Nobody serves it while it is on its way out.
        scene.barrier(homer, ariadne).await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"metadata": {"finalizers": null}})).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
    });
}

#[test]
fn a_namespace_that_the_broker_made_goes_when_it_is_empty() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-namespace", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        for name in ["a", "b"] {
            scene.certificate(homer, name).await;
            scene.copy(homer, name, ariadne).await;
        }
        let namespace = ariadne.get(&NAMESPACE, "", scene.ns()).await;
        homer.delete(&CERTIFICATE, scene.ns(), "a").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "a").await;
        scene.barrier(homer, ariadne).await;
        assert!(!ariadne.get(&NAMESPACE, "", scene.ns()).await.is_deleting(), "it is in use");
        homer.delete(&CERTIFICATE, scene.ns(), "b").await;
        ariadne.until_gone(&NAMESPACE, "", scene.ns()).await;

        // And it is made again when it is needed again.
        scene.certificate(homer, "c").await;
        scene.copy(homer, "c", ariadne).await;
        assert_ne!(ariadne.get(&NAMESPACE, "", scene.ns()).await.uid(), namespace.uid());
    });
}

#[test]
fn namespaces_of_others_and_those_in_use_are_kept() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let gone = Scene::new(world, "delete-namespace-gone", &[homer]).await;
        let own = Scene::new(world, "delete-namespace-own", &[homer]).await;
        let used = Scene::new(world, "delete-namespace-used", &[homer]).await;
        theseus.make_namespace(own.ns()).await;
        for scene in [&own, &used, &gone] {
            scene.accept(theseus, Value::Null).await;
            scene.certificate(homer, "www").await;
            scene.copy(homer, "www", theseus).await;
        }
        theseus.create(&CONFIG_MAP, used.ns(), "theirs", json!({"data": {"a": "b"}})).await;
        for scene in [&own, &used, &gone] {
            homer.delete(&CERTIFICATE, scene.ns(), "www").await;
            homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        }
        // The last one went last: when its namespace is gone, the others were looked at.
        theseus.until_gone(&NAMESPACE, "", gone.ns()).await;
        gone.barrier(homer, ariadne).await;
        for scene in [&own, &used] {
            assert!(!theseus.get(&NAMESPACE, "", scene.ns()).await.is_deleting(), "{} was removed", scene.ns());
        }
    });
}

#[test]
fn the_copy_of_an_origin_whose_finalizer_was_forced_off_is_an_orphan_and_goes() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-orphan", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        // While it is paused the broker does not put its finalizer back.
        let paused = json!({"metadata": {"annotations": {keys::PAUSED: "true"}}});
        homer.edit(&CERTIFICATE, scene.ns(), "www", paused).await;
        scene.barrier(homer, ariadne).await;
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"metadata": {"finalizers": null}})).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        ariadne.until_gone(&CERTIFICATE, scene.ns(), copy.name()).await;
    });
}

#[test]
fn a_recreated_object_is_another_object() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-recreated", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let first = scene.certificate(homer, "www").await;
        let old = scene.copy(homer, "www", ariadne).await;
        ariadne.set_status(&CERTIFICATE, scene.ns(), old.name(), json!({"status": "Available"})).await;
        scene.until(homer, "www", "the status", |seen| seen.text("/status/status") == "Available").await;
        hold(ariadne, &old, true).await;
        // Forced off and created anew while the old copy is still there.
        let paused = json!({"metadata": {"annotations": {keys::PAUSED: "true"}}});
        homer.edit(&CERTIFICATE, scene.ns(), "www", paused).await;
        scene.barrier(homer, ariadne).await;
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"metadata": {"finalizers": null}})).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        let second = scene.certificate_for(homer, "www", &scene.fqdn("second")).await;
        assert_ne!(first.uid(), second.uid());

        // The old copy goes; its status is not the new object's.
        scene.copy_until(homer, "www", ariadne, "the old copy on its way out", Object::is_deleting).await;
        ariadne.set_status(&CERTIFICATE, scene.ns(), old.name(), json!({"status": "Deleting"})).await;
        scene.barrier(homer, ariadne).await;
        let seen = homer.get(&CERTIFICATE, scene.ns(), "www").await;
        assert_eq!((seen.uid(), seen.text("/status/status")), (second.uid(), ""));
        hold(ariadne, &old, false).await;
        let new = |seen: &Object| seen.annotation(keys::CONSUMER_UID) == Some(second.uid()) && !seen.is_deleting();
        let copy = scene.copy_until(homer, "www", ariadne, "the new copy", new).await;
        assert_eq!(copy.text("/spec/fqdn"), scene.fqdn("second"));
        assert_ne!(copy.uid(), old.uid());
    });
}

#[test]
fn an_object_deleted_and_created_in_a_row_ends_with_its_own_copy() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-row", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        for round in 0..5 {
            let created = scene.certificate_for(homer, "www", &scene.fqdn(&format!("round{round}"))).await;
            let own = |seen: &Object| seen.annotation(keys::CONSUMER_UID) == Some(created.uid()) && !seen.is_deleting();
            // Not in every round: a deletion may also come before the copy.
            if round % 2 == 0 {
                scene.copy_until(homer, "www", ariadne, "its own copy", own).await;
            }
            if round < 4 {
                homer.delete(&CERTIFICATE, scene.ns(), "www").await;
                homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
            }
        }
        scene.barrier(homer, ariadne).await;
        let here = ariadne.list(&CERTIFICATE, scene.ns()).await;
        assert_eq!(here.len(), 1, "{here:?}");
        assert_eq!(here[0].text("/spec/fqdn"), scene.fqdn("round4"));
    });
}

#[test]
fn an_object_that_was_never_placed_goes_at_once() {
    WORLD.run(async |world| {
        let (homer, _) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "delete-unplaced", &[homer]).await;
        scene.certificate(homer, "www").await;
        scene.until(homer, "www", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        assert!(homer.find(&CERTIFICATE, scene.ns(), "www").await.is_none(), "nothing holds it");
    });
}

#[test]
fn a_deleted_namespace_of_a_consumer_takes_its_copies_along() {
    WORLD.run(async |world| {
        let (second, ariadne, theseus) = (world.consumer(SECOND), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "delete-consumer-ns", &[second]).await;
        scene.accept(ariadne, json!({"filters": [{"key": "fqdn", "prefix": "a"}]})).await;
        scene.accept(theseus, json!({"filters": [{"key": "fqdn", "prefix": "b"}]})).await;
        for (name, provider) in [("a1", ariadne), ("a2", ariadne), ("b1", theseus)] {
            scene.certificate(second, name).await;
            scene.copy(second, name, provider).await;
        }
        second.delete(&NAMESPACE, "", scene.ns()).await;
        second.until_gone(&NAMESPACE, "", scene.ns()).await;
        assert_eq!(ariadne.list(&CERTIFICATE, scene.ns()).await, []);
        assert_eq!(theseus.list(&CERTIFICATE, scene.ns()).await, []);
    });
}
