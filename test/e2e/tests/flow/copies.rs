//! Consumer object → copy: what is made, what travels, what stays, what is put right.

use broker_api::keys;
use e2e::{
    Scene,
    kind::{CERTIFICATE, NAMESPACE, WIDGET},
    place::{CONTROLLER, consumer_hash},
};
use serde_json::{Value, json};

use crate::{ARIADNE, GADGET, HOMER, SECOND, THESEUS, WORLD};

#[test]
fn an_object_is_placed_with_one_patch_and_copied_with_one_apply() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-once", &[second]).await;
        let accept = scene.accept(ariadne, Value::Null).await;
        // Somebody's own namespace: that it is made by the broker where it is missing is another test.
        ariadne.make_namespace(scene.ns()).await;
        let consumer_mark = second.cluster.audit().settle().await.unwrap();
        let provider_mark = ariadne.cluster.audit().settle().await.unwrap();

        let created = scene.certificate(second, "www").await;
        let copy = scene.copy(second, "www", ariadne).await;
        let origin = scene.until(second, "www", "its events", |_| true).await;

        // The copy: name, namespace, payload, marks; no finalizer, because a provider may always delete what it runs.
        assert_eq!(copy.name(), format!("{}-www", consumer_hash(SECOND)));
        assert_eq!(copy.at("/spec"), created.at("/spec"));
        assert_eq!(copy.finalizers(), [""; 0]);
        assert_eq!(copy.annotation(keys::CONSUMER_CLUSTER), Some(SECOND));
        assert_eq!(copy.annotation(keys::CONSUMER_NAMESPACE), Some(scene.ns()));
        assert_eq!(copy.annotation(keys::CONSUMER_NAME), Some("www"));
        assert_eq!(copy.annotation(keys::CONSUMER_UID), Some(created.uid()));
        assert!(copy.annotation(keys::ORIGIN).is_some_and(|signature| !signature.is_empty()), "{copy}");
        assert_eq!(copy.label(keys::MANAGED_BY), Some("resource-broker"));
        assert_eq!(copy.label(keys::CONSUMER), Some(&*consumer_hash(SECOND)));
        let managers = copy.at("/metadata/managedFields").as_array().unwrap();
        assert_eq!(managers.len(), 1, "{managers:?}");
        assert_eq!((&managers[0]["manager"], &managers[0]["operation"]), (&json!("resource-broker"), &json!("Apply")));

        // The origin: finalizer and signed assignment.
        assert_eq!(origin.finalizers(), [keys::FINALIZER]);
        assert_eq!(origin.annotation(keys::PROVIDER_CLUSTER), Some(ARIADNE));
        assert!(origin.annotation(keys::ASSIGNMENT).is_some(), "{origin}");
        assert_eq!(origin.annotation(keys::NEW_PROVIDER_CLUSTER), None);

        // Its story.
        second.until_event(scene.ns(), "www", "Placed", |told| told.message.contains(&accept)).await;
        second.until_event(scene.ns(), "www", "CopyCreated", |told| told.message.contains(ARIADNE)).await;

        // Two writes and no reads, by what the API servers say.
        let ours =
            |request: &harness::AuditEvent| request.namespace == scene.ns() && request.resource == "certificates";
        let at_consumer = second.cluster.audit().settled_since(consumer_mark).await.unwrap().of("broker").only(ours);
        let marks = at_consumer.only(|request| request.subresource.is_empty());
        assert_eq!(marks.len(), 1, "{marks:?}");
        assert_eq!(marks[0].verb, "patch");
        let at_provider = ariadne.cluster.audit().settled_since(provider_mark).await.unwrap().of("broker").only(ours);
        assert_eq!(at_provider.len(), 1, "{at_provider:?}");
        assert_eq!(at_provider[0].verb, "patch");
    });
}

#[test]
fn a_missing_namespace_is_made_and_labelled() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-namespace", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        scene.copy(homer, "www", ariadne).await;
        let namespace = ariadne.get(&NAMESPACE, "", scene.ns()).await;
        assert_eq!(namespace.label(keys::MANAGED_BY), Some("resource-broker"));
    });
}

#[test]
fn two_consumers_may_use_the_same_names() {
    WORLD.run(async |world| {
        let (homer, second) = (world.consumer(HOMER), world.consumer(SECOND));
        let ariadne = world.provider(ARIADNE);
        let scene = Scene::new(world, "flow-same-names", &[homer, second]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate_for(homer, "www", &scene.fqdn("homer")).await;
        scene.certificate_for(second, "www", &scene.fqdn("second")).await;
        let of_homer = scene.copy(homer, "www", ariadne).await;
        let of_second = scene.copy(second, "www", ariadne).await;

        // The value that the contract gives for `consumer#consumer#cluster`.
        assert_eq!(of_second.name(), "a8b70b353e97-www");
        assert_eq!(of_second.label(keys::CONSUMER), Some("a8b70b353e97"));
        assert_eq!(of_second.label(keys::SLOT), Some("a8"));
        assert_eq!(of_second.annotation(keys::CONSUMER_CLUSTER), Some(SECOND));
        assert_ne!(of_homer.name(), of_second.name());
        assert_eq!(of_homer.text("/spec/fqdn"), scene.fqdn("homer"));
        assert_eq!(of_second.text("/spec/fqdn"), scene.fqdn("second"));

        // Each status goes to its origin and to no other.
        let status = |word: &str| json!({"status": word});
        ariadne.set_status(&CERTIFICATE, scene.ns(), of_second.name(), status("Degraded")).await;
        scene.until(second, "www", "its own status", |seen| seen.text("/status/status") == "Degraded").await;
        ariadne.set_status(&CERTIFICATE, scene.ns(), of_homer.name(), status("Failed")).await;
        scene.until(homer, "www", "its own status", |seen| seen.text("/status/status") == "Failed").await;
        scene.barrier(second, ariadne).await;
        assert_eq!(second.get(&CERTIFICATE, scene.ns(), "www").await.text("/status/status"), "Degraded");

        // Deleting one leaves the other.
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
        let left = scene.find_copy(second, "www", ariadne).await.expect("the other consumer's copy");
        assert_eq!((left.uid(), left.is_deleting()), (of_second.uid(), false));
    });
}

#[test]
fn labels_and_annotations_of_people_travel_and_those_of_programs_do_not() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-metadata", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let body = json!({
            "metadata": {
                "labels": {"team": "shop", "app.example.com/tier": "front", "app.kubernetes.io/name": "shop", "k8s.io/x": "1"},
                "annotations": {
                    "note": "hello",
                    "example.com/owner": "lisa",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "node.alpha.k8s.io/ttl": "0",
                    "broker.platform-mesh.io/consumer-name": "somebody-else",
                    "broker.platform-mesh.io/unheard-of": "x",
                },
            },
            "spec": {"fqdn": scene.fqdn("www")},
        });
        homer.create(&CERTIFICATE, scene.ns(), "www", body).await;
        let copy = scene.copy(homer, "www", ariadne).await;
        assert_eq!(copy.label("team"), Some("shop"));
        assert_eq!(copy.label("app.example.com/tier"), Some("front"));
        // `app.kubernetes.io` is a recommended label that people set; only kubectl's own keys and `*.k8s.io` stay.
        assert_eq!(copy.label("app.kubernetes.io/name"), Some("shop"));
        assert_eq!(copy.label("k8s.io/x"), None);
        assert_eq!(copy.annotation("note"), Some("hello"));
        assert_eq!(copy.annotation("example.com/owner"), Some("lisa"));
        assert_eq!(copy.annotation("kubectl.kubernetes.io/last-applied-configuration"), None);
        assert_eq!(copy.annotation("node.alpha.k8s.io/ttl"), None);
        assert_eq!(copy.annotation(keys::CONSUMER_NAME), Some("www"));
        assert_eq!(copy.annotation("broker.platform-mesh.io/unheard-of"), None);
        assert_eq!(copy.annotation(keys::PROVIDER_CLUSTER), None);
        assert_eq!(copy.annotation(keys::ASSIGNMENT), None);

        // What the provider puts on it stays; edits and removals of people arrive.
        let theirs = json!({"metadata": {"labels": {"rack": "7"}, "annotations": {"example.com/node": "n1"}}});
        ariadne.edit(&CERTIFICATE, scene.ns(), copy.name(), theirs).await;
        let edit = json!({"metadata": {"labels": {"team": "bar", "app.example.com/tier": null}, "annotations": {"note": null}}});
        homer.edit(&CERTIFICATE, scene.ns(), "www", edit).await;
        let arrived = scene
            .copy_until(homer, "www", ariadne, "the edited marks", |seen| {
                seen.label("team") == Some("bar")
                    && seen.label("app.example.com/tier").is_none()
                    && seen.annotation("note").is_none()
            })
            .await;
        assert_eq!((arrived.label("rack"), arrived.annotation("example.com/node")), (Some("7"), Some("n1")));
    });
}

#[test]
fn every_field_but_metadata_and_status_travels_and_a_removed_field_is_removed() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-fields", &[homer]).await;
        let mine = json!({"key": "scene", "valueIn": [scene.name]});
        scene.accept_kind(&WIDGET, ariadne, &[mine], Value::Null).await;
        let body = json!({
            "spec": {"scene": scene.name, "size": 1, "nested": {"x": 1, "y": true}, "list": [{"a": 1}, {"a": 2}], "empty": {}},
            "payload": {"text": "beside the spec"},
        });
        let created = homer.create(&WIDGET, scene.ns(), "w", body).await;
        let name = homer.copy_name("w");
        let copy = ariadne.until_there(&WIDGET, scene.ns(), &name).await;
        assert_eq!((copy.at("/spec"), copy.at("/payload")), (created.at("/spec"), created.at("/payload")));

        // A field that others set at the provider stays.
        ariadne.edit(&WIDGET, scene.ns(), &name, json!({"spec": {"nested": {"theirs": "z"}}})).await;
        let edit = json!({"spec": {"size": 2, "nested": {"y": null}, "list": [{"a": 2}], "empty": null}, "payload": null});
        homer.edit(&WIDGET, scene.ns(), "w", edit).await;
        let copy = ariadne.until(&WIDGET, scene.ns(), &name, "the edit", |seen| seen.at("/spec/size") == 2).await;
        let expected = json!({"scene": scene.name, "size": 2, "nested": {"x": 1, "theirs": "z"}, "list": [{"a": 2}]});
        assert_eq!(copy.at("/spec"), &expected);
        assert_eq!(copy.at("/payload"), &Value::Null);
    });
}

#[test]
fn fields_that_the_provider_defaults_stay_and_maps_may_become_empty() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-defaults", &[homer]).await;
        let red = json!({"key": "color", "prefix": "red"});
        scene.accept_kind(&GADGET, ariadne, &[red], Value::Null).await;
        homer.create(&GADGET, scene.ns(), "g", json!({"spec": {"color": "red"}})).await;
        let name = homer.copy_name("g");
        let copy = ariadne.until_there(&GADGET, scene.ns(), &name).await;
        assert_eq!(copy.at("/spec"), &json!({"color": "red", "tier": "gold"}));
        homer.edit(&GADGET, scene.ns(), "g", json!({"spec": {"color": "red wine"}})).await;
        let copy =
            ariadne.until(&GADGET, scene.ns(), &name, "the edit", |seen| seen.text("/spec/color") == "red wine").await;
        assert_eq!(copy.text("/spec/tier"), "gold");
        // The origin is left as its author wrote it.
        assert_eq!(homer.get(&GADGET, scene.ns(), "g").await.at("/spec"), &json!({"color": "red wine"}));

        // A value of the author's own wins over the default, and its removal brings the default back.
        homer.edit(&GADGET, scene.ns(), "g", json!({"spec": {"tier": "tin"}})).await;
        ariadne.until(&GADGET, scene.ns(), &name, "the tier", |seen| seen.text("/spec/tier") == "tin").await;
        homer.edit(&GADGET, scene.ns(), "g", json!({"spec": {"tier": null}})).await;
        ariadne.until(&GADGET, scene.ns(), &name, "the default", |seen| seen.text("/spec/tier") == "gold").await;

        // API servers refuse to make `{}` of a map whose entries were all the applier's: it is made anew.
        homer.edit(&GADGET, scene.ns(), "g", json!({"spec": {"marks": {"a": "1"}, "owners": ["a"]}})).await;
        ariadne.until(&GADGET, scene.ns(), &name, "marks", |seen| seen.text("/spec/marks/a") == "1").await;
        homer.edit(&GADGET, scene.ns(), "g", json!({"spec": {"marks": {"a": null}, "owners": []}})).await;
        let emptied = json!({"color": "red wine", "marks": {}, "owners": [], "tier": "gold"});
        ariadne.until(&GADGET, scene.ns(), &name, "no marks", |seen| seen.at("/spec") == &emptied).await;

        // Nothing is written over and over: the copy rests at one version.
        scene.barrier(homer, ariadne).await;
        let rested = ariadne.get(&GADGET, scene.ns(), &name).await;
        scene.barrier(homer, ariadne).await;
        assert_eq!(ariadne.get(&GADGET, scene.ns(), &name).await.version(), rested.version());
    });
}

#[test]
fn what_others_change_at_the_provider_is_put_right() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "flow-put-right", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let created = scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;

        // The spec, by the provider's controller.
        let user = ariadne.cluster.client(CONTROLLER).await.unwrap();
        let api: kube::Api<kube::api::DynamicObject> =
            kube::Api::namespaced_with(user, scene.ns(), &CERTIFICATE.resource());
        let patch = kube::api::Patch::Merge(json!({"spec": {"fqdn": "stolen.example.org"}}));
        api.patch(copy.name(), &kube::api::PatchParams::default(), &patch).await.unwrap();
        let right = |seen: &e2e::Object| seen.at("/spec") == created.at("/spec");
        scene.copy_until(homer, "www", ariadne, "its spec again", right).await;

        // All marks, then the whole object.
        let strip = json!({"metadata": {"labels": null, "annotations": null}});
        ariadne.edit(&CERTIFICATE, scene.ns(), copy.name(), strip).await;
        let marked = |seen: &e2e::Object| {
            seen.annotation(keys::CONSUMER_UID) == Some(created.uid())
                && seen.annotation(keys::CONSUMER_CLUSTER) == Some(HOMER)
                && seen.annotation(keys::ORIGIN).is_some()
                && seen.label(keys::MANAGED_BY) == Some("resource-broker")
                && seen.label(keys::CONSUMER).is_some()
        };
        let again = scene.copy_until(homer, "www", ariadne, "its marks again", marked).await;
        assert_eq!(again.uid(), copy.uid(), "it was repaired, not made anew");
        ariadne.delete(&CERTIFICATE, scene.ns(), copy.name()).await;
        let other = |seen: &e2e::Object| seen.uid() != copy.uid();
        let anew = scene.copy_until(homer, "www", ariadne, "a new copy", other).await;
        assert!(right(&anew) && marked(&anew), "{anew}");
    });
}

#[test]
fn marks_that_are_stripped_from_the_origin_are_restored() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "flow-origin-marks", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", theseus).await;
        let strip = json!({"metadata": {"annotations": null, "finalizers": null}});
        homer.edit(&CERTIFICATE, scene.ns(), "www", strip).await;
        let marked = |seen: &e2e::Object| {
            seen.finalizers() == [keys::FINALIZER]
                && seen.annotation(keys::PROVIDER_CLUSTER) == Some(THESEUS)
                && seen.annotation(keys::ASSIGNMENT).is_some()
        };
        scene.until(homer, "www", "its marks again", marked).await;
        let same = scene.copy(homer, "www", theseus).await;
        assert_eq!(same.uid(), copy.uid(), "the copy that the provider holds was adopted");
    });
}
