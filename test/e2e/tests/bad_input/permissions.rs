//! The broker may do less than it needs: it says what is missing, and does what it may.

use e2e::{Object, Scene, Tally, kind::CERTIFICATE};
use serde_json::{Value, json};

use crate::{WORLD, cast, placed, unharmed};

#[test]
fn a_provider_that_may_not_create_namespaces() {
    WORLD.run(async |world| {
        let [homer, _, _, minos] = cast(world);
        let scene = Scene::new(world, "no-namespaces", &[homer]).await;
        scene.accept(minos, Value::Null).await;
        let tally = Tally::begin([homer, minos]).await;
        scene.certificate(homer, "web").await;
        let says = |seen: &Object| {
            seen.has("Brokered", "False", "Forbidden")
                && seen.condition("Brokered").is_some_and(|told| {
                    told.message.contains(scene.ns()) && told.message.contains("create it there, or grant")
                })
        };
        scene.until(homer, "web", "to say what is missing", says).await;
        homer.until_event(scene.ns(), "web", "Forbidden", |told| told.message.contains("grant")).await;
        let requests = tally.requests().await;
        let tries =
            requests.writes().only(|request| request.place == "minos" && request.event.resource != "acceptapis");
        assert!(tries.0.len() <= 6, "no retry storm: {tries}");
        minos.make_namespace(scene.ns()).await;
        scene.copy(homer, "web", minos).await;
        scene.until(homer, "web", "to be placed", placed).await;
        unharmed(world).await;
    });
}

#[test]
fn a_provider_that_may_not_list_secrets_serves_what_it_can() {
    WORLD.run(async |world| {
        let [homer, _, _, minos] = cast(world);
        let scene = Scene::new(world, "no-secrets", &[homer]).await;
        minos.make_namespace(scene.ns()).await;
        scene.accept(minos, Value::Null).await;
        let (code, body) = world.broker().await.as_ref().unwrap().health("/readyz").await.unwrap();
        assert_eq!(code, 200, "{body}");
        let said = body.lines().find(|line| line.contains("provider#minos Secret"));
        assert!(said.is_some_and(|line| line.contains("forbidden") && line.contains("secrets")), "{body}");
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", minos).await;
        let related = json!({"tls": {"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": "any"}});
        let status = json!({"status": "Available", "relatedResources": related});
        minos.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
        scene.until(homer, "web", "its status", |seen| seen.text("/status/status") == "Available").await;
        let log = world.broker().await.as_ref().unwrap().log();
        assert!(log.contains("grant list and watch"), "it says what to do");
        unharmed(world).await;
    });
}

#[test]
fn a_consumer_whose_status_may_not_be_written() {
    WORLD.run(async |world| {
        let [homer, bart, theseus, _] = cast(world);
        let scene = Scene::new(world, "no-status", &[homer, bart]).await;
        scene.accept(theseus, Value::Null).await;
        let tally = Tally::begin([bart]).await;
        scene.certificate(bart, "web").await;
        let copy = scene.copy(bart, "web", theseus).await;
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        let told = bart.until_event(scene.ns(), "web", "Forbidden", |told| told.message.contains("grant")).await;
        assert!(told.message.contains("consumer#bart"), "it names the cluster: {told:?}");
        // The way to the provider is open, and so is that of others.
        let wanted = scene.fqdn("edited");
        bart.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
        scene.copy_until(bart, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;
        scene.certificate(homer, "web").await;
        scene.until(homer, "web", "to be placed", placed).await;
        let requests = tally.requests().await.within(scene.ns());
        assert!(requests.writes().0.len() <= 10, "no retry storm: {requests}");
        unharmed(world).await;
    });
}
