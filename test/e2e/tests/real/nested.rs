//! Objects that cannot be read are told, and never written over.

use broker_api::keys;
use e2e::{DEADLINE, Kind, Object, Place, Scene, Tally, kind::WIDGET};
use harness::wait_for;
use http::Request;
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, WORLD};

/// A finalizer of somebody else.
const THEIRS: &str = "example.org/theirs";

/// Lists within lists, as text: no client of ours reads or writes them.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// One request as a person, with a body that nobody parses here; the answer as text.
async fn send(place: &Place, method: &str, path: &str, body: String) -> String {
    let path = format!("/apis/{}/namespaces/{path}", WIDGET.api_version());
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(&path).header("Content-Type", kind).body(body.into_bytes());
    let answer = place.client().request_text(request.unwrap()).await;
    answer.unwrap_or_else(|error| panic!("{method} {path} in {}: {error}", place.name()))
}

/// Waits until the text of an object holds `word`.
async fn until_said(place: &Place, path: &str, word: &str) -> String {
    let what = format!("{path} to say {word}");
    let waited = wait_for(DEADLINE, &what, async || {
        let text = send(place, "GET", path, String::new()).await;
        if text.contains(word) { Ok(text) } else { Err(text) }
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"))
}

/// Waits until an object has these finalizers.
async fn until_finalizers(place: &Place, namespace: &str, name: &str, wanted: &[&str]) {
    let what = format!("{name} to have the finalizers {wanted:?}");
    let found = wait_for(DEADLINE, &what, async || {
        let seen = place.api(&WIDGET, namespace).get_metadata(name).await?;
        let there = seen.metadata.finalizers.unwrap_or_default();
        anyhow::ensure!(there == wanted, "{there:?}");
        Ok(())
    });
    found.await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// `reason` of the condition that tells of it.
const TOLD: &str = r#""reason":"Unreadable""#;

async fn accept(scene: &Scene<'_>, provider: &Place, kind: &Kind) {
    scene.accept_kind(kind, provider, &[json!({"key": "for", "valueIn": [scene.name]})], Value::Null).await;
}

#[test]
fn an_object_nested_too_deep_keeps_anothers_finalizer_is_told_and_goes() {
    WORLD.run(async |world| {
        let (homer, bart, ariadne) = (world.consumer(HOMER), world.consumer(BART), world.provider(ARIADNE));
        let scene = Scene::new(world, "nested", &[homer, bart]).await;
        accept(&scene, ariadne, &WIDGET).await;
        let tally = Tally::begin([homer, ariadne]).await;
        let (all, one) = (format!("{}/widgets", scene.ns()), format!("{}/widgets/deep", scene.ns()));
        let body = format!(
            r#"{{"apiVersion":"e2e.test/v1","kind":"Widget","metadata":{{"name":"deep","finalizers":["{THEIRS}"]}},
                "spec":{{"for":"{}","deep":{}}}}}"#,
            scene.name,
            nested(130)
        );
        send(homer, "POST", &all, body).await;
        until_said(homer, &one, TOLD).await;
        homer.until_event(scene.ns(), "deep", "Unreadable", |told| told.message.contains("128")).await;
        until_finalizers(homer, scene.ns(), "deep", &[THEIRS]).await;
        // Others' objects of the kind go their way.
        bart.create(&WIDGET, scene.ns(), "flat", json!({"spec": {"for": scene.name}})).await;
        ariadne.until_there(&WIDGET, scene.ns(), &bart.copy_name("flat")).await;
        let requests = tally.requests().await;
        let writes = requests.writes().within(scene.ns()).only(|request| request.event.name == "deep");
        assert_eq!(writes.0.len(), 1, "told once, and nothing else: {writes}");
        assert!(ariadne.find(&WIDGET, scene.ns(), &homer.copy_name("deep")).await.is_none());
        // Made flat, it is served; made deep again, its copy stays as it is.
        send(homer, "PATCH", &one, r#"{"spec":{"deep":null,"round":1}}"#.into()).await;
        let copy = ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name("deep")).await;
        let deepen = format!(r#"{{"spec":{{"round":2,"deep":{}}}}}"#, nested(130));
        send(homer, "PATCH", &one, deepen).await;
        until_said(homer, &one, TOLD).await;
        until_finalizers(homer, scene.ns(), "deep", &[THEIRS, keys::FINALIZER]).await;
        let held = ariadne.get(&WIDGET, scene.ns(), copy.name()).await;
        assert_eq!((held.uid(), held.at("/spec/round")), (copy.uid(), &json!(1)), "{held}");
        // Deleted, the copy goes, and then the broker's finalizer, and no other.
        send(homer, "DELETE", &one, String::new()).await;
        ariadne.until_gone(&WIDGET, scene.ns(), copy.name()).await;
        until_finalizers(homer, scene.ns(), "deep", &[THEIRS]).await;
        send(homer, "PATCH", &one, r#"{"metadata":{"finalizers":null}}"#.into()).await;
        homer.until_gone(&WIDGET, scene.ns(), "deep").await;
    });
}

#[test]
fn an_object_of_too_many_values_is_told() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "beaded", &[homer]).await;
        accept(&scene, ariadne, &WIDGET).await;
        let body = json!({"spec": {"for": scene.name, "beads": vec![json!({"": 0}); 150_000]}});
        homer.create(&WIDGET, scene.ns(), "beads", body).await;
        let told = |seen: &Object| seen.has("Brokered", "False", "TooComplex");
        homer.until(&WIDGET, scene.ns(), "beads", "to be told", told).await;
        homer.edit(&WIDGET, scene.ns(), "beads", json!({"spec": {"beads": null}})).await;
        ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name("beads")).await;
        homer.delete(&WIDGET, scene.ns(), "beads").await;
        homer.until_gone(&WIDGET, scene.ns(), "beads").await;
    });
}

#[test]
fn a_copy_that_cannot_be_read_stays_and_takes_no_status_along() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "abyss", &[homer]).await;
        accept(&scene, ariadne, &WIDGET).await;
        homer.create(&WIDGET, scene.ns(), "w", json!({"spec": {"for": scene.name}})).await;
        let copy = ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name("w")).await;
        ariadne.set_status(&WIDGET, scene.ns(), copy.name(), json!({"phase": "Up"})).await;
        homer.until(&WIDGET, scene.ns(), "w", "its status", |seen| seen.text("/status/phase") == "Up").await;
        let there = format!("{}/widgets/{}", scene.ns(), copy.name());
        let status = format!(r#"{{"status":{{"phase":"Deep","abyss":{}}}}}"#, nested(130));
        send(ariadne, "PATCH", &format!("{there}/status"), status).await;
        let told = |seen: &Object| seen.has("Brokered", "False", "Unreadable");
        let seen = homer.until(&WIDGET, scene.ns(), "w", "to be told", told).await;
        assert_eq!(seen.text("/status/phase"), "Up", "{seen}");
        let held = ariadne.api(&WIDGET, scene.ns()).get_metadata(copy.name()).await.unwrap();
        assert_eq!(held.metadata.uid.as_deref(), Some(copy.uid()));
        homer.delete(&WIDGET, scene.ns(), "w").await;
        homer.until_gone(&WIDGET, scene.ns(), "w").await;
        assert!(ariadne.find(&WIDGET, scene.ns(), copy.name()).await.is_none());
    });
}
