//! How many requests each step of an object's life takes.

use e2e::{
    Scene, Tally, World,
    kind::{CERTIFICATE, SECRET},
};
use serde_json::{Value, json};

use crate::{ALONE, HOMER, THESEUS, WORLD, places};

async fn scene<'a>(world: &'a World, name: &str) -> Scene<'a> {
    let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
    let scene = Scene::new(world, name, &[homer]).await;
    theseus.make_namespace(name).await;
    scene.accept(theseus, Value::Null).await;
    scene.barrier(homer, theseus).await;
    scene
}

#[test]
fn from_create_to_copy_it_takes_two_writes_and_no_reads() {
    WORLD.run(async |world| {
        let _shared = ALONE.read().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = scene(world, "two-writes").await;
        let tally = Tally::begin(places(world)).await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        scene.until(homer, "web", "its status", |seen| seen.text("/status/status") == "Available").await;

        let requests = tally.requests().await.within(scene.ns());
        assert_eq!(requests.reads().0.len(), 0, "{requests}");
        let expected = ["homer patch certificates", "homer patch certificates/status", "theseus patch certificates"];
        let mut words = requests.writes().words();
        words.sort();
        assert_eq!(words, expected, "marks, copy, and the provider's first status: {requests}");
        assert_eq!(requests.writes(), requests.writes().carried_out(), "none was refused");
    });
}

#[test]
fn a_status_change_takes_one_write() {
    WORLD.run(async |world| {
        let _shared = ALONE.read().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = scene(world, "one-write").await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", |seen| seen.has("Brokered", "True", "Placed")).await;

        let tally = Tally::begin(places(world)).await;
        for round in 0..10 {
            let ready = json!({
                "type": "Ready", "status": "False", "reason": "Renewing", "message": format!("round {round}"),
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            let status = json!({"status": "Provisioning", "conditions": [ready]});
            theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
            let message = format!("round {round}");
            let arrived = |seen: &e2e::Object| seen.condition("Ready").is_some_and(|told| told.message == message);
            scene.until(homer, "web", &message, arrived).await;
        }
        let requests = tally.requests().await.within(scene.ns());
        assert_eq!(requests.writes().words(), vec!["homer patch certificates/status"; 10], "{requests}");
        assert_eq!(requests.reads().0.len(), 0, "{requests}");
    });
}

#[test]
fn an_edit_takes_one_write_and_what_is_not_for_the_copy_takes_none() {
    WORLD.run(async |world| {
        let _shared = ALONE.read().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = scene(world, "one-edit").await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", |seen| seen.has("Brokered", "True", "Placed")).await;

        let tally = Tally::begin(places(world)).await;
        let ignored = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
        homer.edit(&CERTIFICATE, scene.ns(), "web", ignored).await;
        let theirs = json!({"metadata": {"labels": {"provider": "team-a"}, "annotations": {"note": "ours"}}});
        theseus.edit(&CERTIFICATE, scene.ns(), copy.name(), theirs).await;
        let wanted = scene.fqdn("other");
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
        scene.copy_until(homer, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;
        scene.barrier(homer, theseus).await;

        let requests = tally.requests().await.within(scene.ns());
        assert_eq!(requests.writes().words(), ["theseus patch certificates"], "{requests}");
        assert_eq!(requests.reads().0.len(), 0, "{requests}");
    });
}

#[test]
fn a_related_secret_takes_one_read_and_one_write_per_change() {
    WORLD.run(async |world| {
        let _shared = ALONE.read().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = scene(world, "one-secret").await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        let name = format!("{}-tls", copy.name());
        theseus.create(&SECRET, scene.ns(), &name, json!({"stringData": {"key": "old"}})).await;
        let related = json!({"tls": {"gvk": SECRET.gvk(), "name": name}});
        let status = json!({"status": "Available", "relatedResources": related});
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
        homer.until_there(&SECRET, scene.ns(), "web-tls").await;
        scene.until(homer, "web", "its status", |seen| seen.text("/status/status") == "Available").await;

        let tally = Tally::begin(places(world)).await;
        theseus.edit(&SECRET, scene.ns(), &name, json!({"stringData": {"key": "new"}})).await;
        let arrived = |seen: &e2e::Object| seen.text("/data/key") == "bmV3";
        homer.until(&SECRET, scene.ns(), "web-tls", "the rotated key", arrived).await;
        scene.barrier(homer, theseus).await;
        let requests = tally.requests().await.within(scene.ns());
        assert_eq!(requests.writes().words(), ["homer patch secrets"], "{requests}");
        assert_eq!(requests.reads().words(), ["theseus get secrets"], "its content is read once: {requests}");
    });
}
