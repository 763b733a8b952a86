//! What consumers and providers may try: A4, A5, A11 and A16. (A6 is in `related_attacks`, A7 and A8 in suite `real`, A9 in
//! `bombs`, A10 in `filters`, A12 in `names`.)

use broker_api::keys;
use e2e::{
    Object, Place, Scene,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

/// The annotations that say who serves an object.
fn steering(object: &Object) -> Value {
    let keys = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER, keys::ASSIGNMENT];
    let held = keys.iter().filter_map(|key| Some(((*key).to_owned(), json!(object.annotation(key)?))));
    Value::Object(held.collect())
}

fn annotations(annotations: &Value) -> Value {
    json!({"metadata": {"annotations": annotations}})
}

async fn served(scene: &Scene<'_>, consumer: &Place, name: &str, provider: &Place) -> (Object, Object) {
    scene.certificate(consumer, name).await;
    let copy = scene.copy(consumer, name, provider).await;
    let origin = scene.until(consumer, name, "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
    (origin, copy)
}

#[test]
fn a4_forged_annotations_on_a_new_object_are_ignored() {
    WORLD.run(async |world| {
        let (second, ariadne, theseus) = (world.consumer(SECOND), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a4-new", &[second]).await;
        scene.accept(ariadne, Value::Null).await;
        let victim = served(&scene, second, "victim", ariadne).await.0;
        let forged = [
            ("bogus", json!({keys::PROVIDER_CLUSTER: THESEUS, keys::ASSIGNMENT: "v1.x.1.AAAA"})),
            ("unsigned", json!({keys::PROVIDER_CLUSTER: THESEUS, keys::NEW_PROVIDER_CLUSTER: THESEUS})),
            // Another object's valid one.
            ("stolen", steering(&victim)),
        ];
        for (name, forged) in &forged {
            let mut body = annotations(forged);
            body["metadata"]["finalizers"] = json!([keys::FINALIZER]);
            body["spec"] = json!({"fqdn": scene.fqdn(name)});
            second.create(&CERTIFICATE, scene.ns(), name, body).await;
        }
        for (name, forged) in &forged {
            scene.copy(second, name, ariadne).await;
            second.until_event(scene.ns(), name, "AssignmentIgnored", |_| true).await;
            let right = |seen: &Object| {
                seen.annotation(keys::PROVIDER_CLUSTER) == Some(ARIADNE)
                    && seen.annotation(keys::ASSIGNMENT) != forged[keys::ASSIGNMENT].as_str()
                    && seen.annotation(keys::NEW_PROVIDER_CLUSTER).is_none()
            };
            scene.until(second, name, "the broker's own assignment", right).await;
        }
        scene.barrier(second, theseus).await;
        assert_eq!(theseus.list(&CERTIFICATE, scene.ns()).await, []);
    });
}

#[test]
fn a4_forged_annotations_on_a_served_object_move_nothing() {
    WORLD.run(async |world| {
        let (second, ariadne, theseus) = (world.consumer(SECOND), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a4-served", &[second]).await;
        scene.accept(ariadne, Value::Null).await;
        let (origin, copy) = served(&scene, second, "www", ariadne).await;
        // It would be accepted there: only the broker decides.
        scene.accept(theseus, Value::Null).await;
        scene.barrier(second, theseus).await;
        let forged = json!({keys::PROVIDER_CLUSTER: THESEUS, keys::NEW_PROVIDER_CLUSTER: THESEUS});
        second.edit(&CERTIFICATE, scene.ns(), "www", annotations(&forged)).await;
        second.until_event(scene.ns(), "www", "AssignmentIgnored", |_| true).await;
        let right = |seen: &Object| seen.annotation(keys::PROVIDER_CLUSTER) == Some(ARIADNE);
        scene.until(second, "www", "its provider again", right).await;
        scene.barrier(second, theseus).await;
        assert!(scene.find_copy(second, "www", theseus).await.is_none());
        let seen = scene.copy(second, "www", ariadne).await;
        assert_eq!((seen.uid(), seen.is_deleting()), (copy.uid(), false));
        assert_eq!(second.get(&CERTIFICATE, scene.ns(), "www").await.uid(), origin.uid());
    });
}

#[test]
fn a4_a_forged_finalizer_holds_nothing() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "attack-a4-finalizer", &[homer]).await;
        // Nobody accepts it; it claims to be served.
        let forged = json!({
            "metadata": {
                "finalizers": [keys::FINALIZER],
                "annotations": {keys::PROVIDER_CLUSTER: "nowhere", keys::ASSIGNMENT: "v1.x.1.AAAA"},
            },
            "spec": {"fqdn": scene.fqdn("www")},
        });
        homer.create(&CERTIFICATE, scene.ns(), "www", forged).await;
        scene.until(homer, "www", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        scene.barrier(homer, ariadne).await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
    });
}

/// A5: marks of another tenant's copy on an object of the provider's own.
#[test]
fn a5_a_forged_origin_touches_nobody() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a5", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let (origin, copy) = served(&scene, homer, "www", ariadne).await;
        let metadata = json!({
            "labels": copy.at("/metadata/labels"),
            "annotations": copy.at("/metadata/annotations"),
        });
        let body = json!({"metadata": metadata, "spec": {"fqdn": "evil.example.org"}});
        // Under another name at its provider, and under the right name at another provider.
        let names = [(ariadne, "evil"), (theseus, copy.name())];
        theseus.make_namespace(scene.ns()).await;
        for (provider, name) in names {
            provider.create(&CERTIFICATE, scene.ns(), name, body.clone()).await;
            let lie = json!({"status": "Failed", "relatedResources": {"x": {"gvk": CERTIFICATE.gvk(), "name": "x"}}});
            provider.set_status(&CERTIFICATE, scene.ns(), name, lie).await;
            scene.barrier(homer, provider).await;
        }
        let seen = homer.get(&CERTIFICATE, scene.ns(), "www").await;
        assert_eq!(seen.version(), origin.version(), "the origin was written to: {seen}");
        assert_eq!(scene.copy(homer, "www", ariadne).await.version(), copy.version());
        // Nor does the broker delete what is not its own.
        for (provider, name) in names {
            assert!(!provider.get(&CERTIFICATE, scene.ns(), name).await.is_deleting());
        }
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        scene.barrier(homer, ariadne).await;
        scene.barrier(homer, theseus).await;
        for (provider, name) in names {
            assert!(!provider.get(&CERTIFICATE, scene.ns(), name).await.is_deleting());
        }
    });
}

/// A5: a provider rewrites the marks of a copy, so that they name another tenant's object.
#[test]
fn a5_rewritten_marks_are_restored_and_the_named_tenant_is_untouched() {
    WORLD.run(async |world| {
        let (homer, second, ariadne) = (world.consumer(HOMER), world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "attack-a5-rewrite", &[homer, second]).await;
        scene.accept(ariadne, Value::Null).await;
        let (victim, victims_copy) = served(&scene, second, "www", ariadne).await;
        let (own, copy) = served(&scene, homer, "www", ariadne).await;
        let marks = annotations(victims_copy.at("/metadata/annotations"));
        ariadne.edit(&CERTIFICATE, scene.ns(), copy.name(), marks).await;
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Failed"})).await;
        let right = |seen: &Object| {
            seen.annotation(keys::CONSUMER_CLUSTER) == Some(HOMER)
                && seen.annotation(keys::CONSUMER_UID) == Some(own.uid())
                && seen.annotation(keys::ORIGIN) != victims_copy.annotation(keys::ORIGIN)
        };
        scene.copy_until(homer, "www", ariadne, "its own marks again", right).await;
        scene.until(homer, "www", "its own status", |seen| seen.text("/status/status") == "Failed").await;
        scene.barrier(second, ariadne).await;
        assert_eq!(second.get(&CERTIFICATE, scene.ns(), "www").await.version(), victim.version());
        assert_eq!(scene.copy(second, "www", ariadne).await.version(), victims_copy.version());
    });
}

#[test]
fn a11_an_accept_api_or_migration_in_a_consumer_cluster_is_ignored() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a11", &[homer]).await;
        homer.apply(&format!("{}\n---\n{}", ACCEPT_API.crd(), MIGRATION.crd())).await;
        scene.accept(homer, json!({"priority": 1000})).await;
        scene.certificate(homer, "www").await;
        scene.until(homer, "www", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        scene.barrier(homer, ariadne).await;
        let own = homer.list(&ACCEPT_API, ACCEPT_NAMESPACE).await;
        let own = own.iter().find(|api| api.name().starts_with(&scene.name)).unwrap();
        assert_eq!(own.at("/status"), &Value::Null, "nobody looks at it");
        assert!(homer.get(&CERTIFICATE, scene.ns(), "www").await.finalizers().is_empty());

        // A Migration there moves nothing.
        scene.accept(ariadne, Value::Null).await;
        let copy = scene.copy(homer, "www", ariadne).await;
        scene.accept(theseus, Value::Null).await;
        let side = |cluster: &str| {
            json!({"gvk": {"group": CERTIFICATE.group, "version": CERTIFICATE.version, "kind": CERTIFICATE.kind},
                "name": copy.name(), "namespace": scene.ns(), "clusterName": cluster})
        };
        let spec = json!({"from": side("provider#ariadne"), "to": side("provider#theseus")});
        homer.create(&MIGRATION, scene.ns(), "move", json!({"spec": spec})).await;
        scene.barrier(homer, theseus).await;
        assert!(scene.find_copy(homer, "www", theseus).await.is_none());
        assert_eq!(homer.get(&MIGRATION, scene.ns(), "move").await.at("/status"), &Value::Null);
    });
}

/// A16: an assignment that was valid once is put back after the object was assigned anew.
#[test]
fn a16_an_older_assignment_that_is_put_back_loses() {
    WORLD.run(async |world| {
        let (second, ariadne, theseus) = (world.consumer(SECOND), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a16", &[second]).await;
        let first = scene.accept(ariadne, Value::Null).await;
        let (origin, old) = served(&scene, second, "www", ariadne).await;
        let replay = annotations(&steering(&origin));

        // Its provider gives it up, and with the marks gone it is placed anew, at the other one.
        let paused = annotations(&json!({keys::PAUSED: "true"}));
        second.edit(&CERTIFICATE, scene.ns(), "www", paused).await;
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &first).await;
        scene.accept(theseus, Value::Null).await;
        scene.barrier(second, ariadne).await;
        scene.barrier(second, theseus).await;
        ariadne.delete(&CERTIFICATE, scene.ns(), old.name()).await;
        scene.barrier(second, ariadne).await;
        let forget = json!({keys::PAUSED: null, keys::PROVIDER_CLUSTER: null, keys::ASSIGNMENT: null});
        second.edit(&CERTIFICATE, scene.ns(), "www", annotations(&forget)).await;
        let new = scene.copy(second, "www", theseus).await;
        scene.until(second, "www", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;

        // The old one accepts again, and the consumer says that it was assigned there.
        scene.accept(ariadne, json!({"priority": 100})).await;
        scene.barrier(second, ariadne).await;
        second.edit(&CERTIFICATE, scene.ns(), "www", replay).await;
        second.until_event(scene.ns(), "www", "AssignmentIgnored", |told| told.message.contains(THESEUS)).await;
        let right = |seen: &Object| seen.annotation(keys::PROVIDER_CLUSTER) == Some(THESEUS);
        scene.until(second, "www", "its present provider", right).await;
        scene.barrier(second, ariadne).await;
        assert!(scene.find_copy(second, "www", ariadne).await.is_none());
        let seen = scene.copy(second, "www", theseus).await;
        assert_eq!((seen.uid(), seen.is_deleting()), (new.uid(), false));
    });
}
