//! Related resources: what a provider lists arrives at the consumer, stays up to date, and goes.

use broker_api::keys;
use e2e::{
    Kind, Object, Place, Scene,
    kind::{CERTIFICATE, CONFIG_MAP, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

/// `{key: {gvk, name, namespace}}`, as providers list it.
fn entry(kind: &Kind, name: &str, namespace: &str) -> Value {
    json!({"gvk": kind.gvk(), "name": name, "namespace": namespace})
}

/// A Secret that belongs to the copy, as providers make it. `text` is under the key `password`.
async fn secret(provider: &Place, copy: &Object, name: &str, text: &str) -> Object {
    let owner = json!([{
        "apiVersion": CERTIFICATE.api_version(), "kind": CERTIFICATE.kind, "name": copy.name(), "uid": copy.uid(),
    }]);
    let metadata = json!({"ownerReferences": owner, "labels": {"theirs": "yes"}, "annotations": {"theirs": "yes"}});
    let body = json!({"metadata": metadata, "type": "example.com/password", "stringData": {"password": text}});
    provider.create(&SECRET, copy.namespace(), name, body).await
}

/// Base64 of what [`secret`] is given in these tests.
fn encoded(text: &str) -> &'static str {
    match text {
        "one" => "b25l",
        "two" => "dHdv",
        "three" => "dGhyZWU=",
        other => panic!("no encoding of {other:?} here"),
    }
}

fn holds(text: &str) -> impl Fn(&Object) -> bool {
    move |seen: &Object| seen.text("/data/password") == encoded(text)
}

#[test]
fn a_secret_arrives_stays_up_to_date_and_goes() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "related-secret", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let origin = scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        let name = format!("{}-tls", copy.name());
        secret(ariadne, &copy, &name, "one").await;
        let listed = json!({"relatedResources": {"tls": entry(&SECRET, &name, scene.ns())}});
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), listed).await;

        // Prefix stripped, label and owner set, content and type as at the provider, nothing else of its metadata.
        let arrived = homer.until(&SECRET, scene.ns(), "www-tls", "its data", holds("one")).await;
        assert_eq!(arrived.text("/type"), "example.com/password");
        assert_eq!(arrived.at("/metadata/labels"), &json!({keys::MANAGED_BY: "resource-broker"}));
        assert_eq!(arrived.at("/metadata/annotations"), &Value::Null);
        let owners = arrived.at("/metadata/ownerReferences").as_array().unwrap();
        assert_eq!(owners.len(), 1);
        for (field, value) in [
            ("apiVersion", CERTIFICATE.api_version()),
            ("kind", "Certificate".to_owned()),
            ("name", "www".to_owned()),
            ("uid", origin.uid().to_owned()),
        ] {
            assert_eq!(owners[0][field], json!(value));
        }

        // Rotated at the provider: it arrives. A key that goes there goes here.
        let rotated = json!({"data": {"password": encoded("two"), "more": encoded("one")}});
        ariadne.edit(&SECRET, scene.ns(), &name, rotated).await;
        homer.until(&SECRET, scene.ns(), "www-tls", "the rotated data", holds("two")).await;
        ariadne.edit(&SECRET, scene.ns(), &name, json!({"data": {"more": null}})).await;
        let one_key = |seen: &Object| seen.at("/data") == &json!({"password": encoded("two")});
        homer.until(&SECRET, scene.ns(), "www-tls", "one key", one_key).await;

        // Spoiled or deleted at the consumer: it is put right.
        homer.edit(&SECRET, scene.ns(), "www-tls", json!({"data": {"password": encoded("three")}})).await;
        homer.until(&SECRET, scene.ns(), "www-tls", "the right data again", holds("two")).await;
        homer.delete(&SECRET, scene.ns(), "www-tls").await;
        homer.until(&SECRET, scene.ns(), "www-tls", "to be back", holds("two")).await;

        // No longer listed: it goes.
        ariadne
            .set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": null, "status": "Available"}))
            .await;
        homer.until_gone(&SECRET, scene.ns(), "www-tls").await;
        assert!(ariadne.find(&SECRET, scene.ns(), &name).await.is_some(), "the provider's own is left alone");
    });
}

#[test]
fn a_config_map_and_a_secret_that_come_late_arrive_and_go_with_their_object() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "related-late", &[homer]).await;
        scene.accept(theseus, json!({"relatedNames": ["late-*"]})).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", theseus).await;
        // Listed before they are made; without a namespace the copy's is meant; a name that is announced needs no prefix.
        let listed = json!({"relatedResources": {
            "config": {"gvk": CONFIG_MAP.gvk(), "name": "late-config"},
            "secret": entry(&SECRET, "late-secret", scene.ns()),
        }});
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), listed).await;
        scene.until(homer, "www", "the list", |seen| !seen.at("/status/relatedResources").is_null()).await;
        assert!(homer.find(&CONFIG_MAP, scene.ns(), "late-config").await.is_none());
        theseus.create(&CONFIG_MAP, scene.ns(), "late-config", json!({"data": {"url": "https://one"}})).await;
        let config = |seen: &Object| seen.at("/data") == &json!({"url": "https://one"});
        homer.until(&CONFIG_MAP, scene.ns(), "late-config", "its data", config).await;
        secret(theseus, &copy, "late-secret", "one").await;
        homer.until(&SECRET, scene.ns(), "late-secret", "its data", holds("one")).await;

        // Gone at the provider but still listed: what the consumer has, it keeps until it is taken off the list.
        // With the object they go, by their owner reference or by the broker.
        homer.delete(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        homer.until_gone(&SECRET, scene.ns(), "late-secret").await;
        homer.until_gone(&CONFIG_MAP, scene.ns(), "late-config").await;
    });
}

#[test]
fn two_consumers_secrets_do_not_meet() {
    WORLD.run(async |world| {
        let (homer, second, ariadne) = (world.consumer(HOMER), world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "related-two", &[homer, second]).await;
        scene.accept(ariadne, Value::Null).await;
        for (consumer, text) in [(homer, "one"), (second, "two")] {
            scene.certificate(consumer, "www").await;
            let copy = scene.copy(consumer, "www", ariadne).await;
            let name = format!("{}-tls", copy.name());
            secret(ariadne, &copy, &name, text).await;
            let listed = json!({"relatedResources": {"tls": entry(&SECRET, &name, scene.ns())}});
            ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), listed).await;
        }
        homer.until(&SECRET, scene.ns(), "www-tls", "its own", holds("one")).await;
        second.until(&SECRET, scene.ns(), "www-tls", "its own", holds("two")).await;
    });
}

#[test]
fn a_persons_own_secret_is_not_overwritten_and_not_removed() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "related-foreign", &[second]).await;
        scene.accept(ariadne, Value::Null).await;
        let own = second.create(&SECRET, scene.ns(), "www-tls", json!({"stringData": {"password": "three"}})).await;
        scene.certificate(second, "www").await;
        let copy = scene.copy(second, "www", ariadne).await;
        let name = format!("{}-tls", copy.name());
        secret(ariadne, &copy, &name, "one").await;
        let listed = json!({"relatedResources": {"tls": entry(&SECRET, &name, scene.ns())}});
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), listed).await;
        second.until_event(scene.ns(), "www", "RelatedConflict", |told| told.message.contains("www-tls")).await;
        ariadne
            .set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": null, "status": "Failed"}))
            .await;
        scene.until(second, "www", "the status", |seen| seen.text("/status/status") == "Failed").await;
        second.delete(&CERTIFICATE, scene.ns(), "www").await;
        second.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        assert_eq!(second.get(&SECRET, scene.ns(), "www-tls").await.version(), own.version());
    });
}

#[test]
fn a_name_that_becomes_free_is_used() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "related-freed", &[homer]).await;
        scene.accept(ariadne, json!({"relatedNames": ["tls"]})).await;
        homer.create(&SECRET, scene.ns(), "tls", json!({"stringData": {"password": "three"}})).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        secret(ariadne, &copy, "tls", "one").await;
        let listed = json!({"relatedResources": {"tls": entry(&SECRET, "tls", scene.ns())}, "status": "Available"});
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), listed).await;
        scene.until(homer, "www", "the status", |seen| seen.text("/status/status") == "Available").await;
        scene.barrier(homer, ariadne).await;
        assert!(holds("three")(&homer.get(&SECRET, scene.ns(), "tls").await), "the person's own");
        homer.delete(&SECRET, scene.ns(), "tls").await;
        homer.until(&SECRET, scene.ns(), "tls", "the provider's", holds("one")).await;
    });
}
