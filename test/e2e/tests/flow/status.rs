//! Copy's status → consumer's status.

use e2e::{
    Object, Scene,
    kind::{CERTIFICATE, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, PLAIN, WORLD};

fn ready(generation: i64) -> Value {
    json!([{
        "type": "Ready", "status": "True", "reason": "Issued", "message": "all is well",
        "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": generation,
    }])
}

#[test]
fn the_status_comes_back_with_brokered_and_names_without_the_prefix() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "status-back", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        // Before the provider says anything the consumer is told who serves it.
        let placed = |seen: &Object| seen.has("Brokered", "True", "Placed");
        let origin = scene.until(homer, "www", "Brokered", placed).await;
        assert!(origin.condition("Brokered").unwrap().message.contains(ARIADNE));

        // Related resources whose objects do not exist yet are named all the same.
        let related = json!({
            "own": {"gvk": SECRET.gvk(), "name": format!("{}-tls", copy.name()), "namespace": scene.ns()},
            "plain": {"gvk": SECRET.gvk(), "name": "plain-name"},
        });
        let status =
            json!({"status": "Available", "conditions": ready(copy.generation()), "relatedResources": related});
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
        let origin = scene.until(homer, "www", "the status", |seen| seen.text("/status/status") == "Available").await;
        assert!(origin.has("Ready", "True", "Issued") && placed(&origin), "{origin}");
        let condition = &origin.at("/status/conditions").as_array().unwrap()[..];
        let ready = condition.iter().find(|condition| condition["type"] == "Ready").unwrap();
        assert_eq!(ready["lastTransitionTime"], "2026-01-02T03:04:05Z", "the provider's own time");
        assert_eq!(ready["observedGeneration"], json!(origin.generation()));
        let expected = json!({
            "own": {"gvk": SECRET.gvk(), "name": "www-tls", "namespace": scene.ns()},
            "plain": {"gvk": SECRET.gvk(), "name": "plain-name"},
        });
        assert_eq!(origin.at("/status/relatedResources"), &expected);

        // What the provider takes back goes here too.
        ariadne
            .set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": null, "status": "Degraded"}))
            .await;
        let origin =
            scene.until(homer, "www", "the new status", |seen| seen.text("/status/status") == "Degraded").await;
        assert_eq!(origin.at("/status/relatedResources"), &Value::Null);
        assert!(placed(&origin), "{origin}");
    });
}

#[test]
fn generations_speak_of_the_consumers_object() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "status-generations", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        // Edits before it is served: the generations of the two differ from the start.
        homer.make_namespace(scene.ns()).await;
        let ignored =
            json!({"metadata": {"labels": {broker_api::keys::IGNORE: "true"}}, "spec": {"fqdn": scene.fqdn("a")}});
        homer.create(&CERTIFICATE, scene.ns(), "www", ignored).await;
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("b")}})).await;
        let unlabel = json!({"metadata": {"labels": null}});
        let origin = homer.edit(&CERTIFICATE, scene.ns(), "www", unlabel).await;
        let copy = scene.copy(homer, "www", ariadne).await;
        assert!(origin.generation() > copy.generation());
        ariadne
            .set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"conditions": ready(copy.generation())}))
            .await;
        let observed = |seen: &Object| {
            let conditions = seen.at("/status/conditions").as_array().cloned().unwrap_or_default();
            let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
            ready.and_then(|ready| ready["observedGeneration"].as_i64())
        };
        let current = |seen: &Object| observed(seen) == Some(seen.generation());
        scene.until(homer, "www", "a current Ready", current).await;
        // After an edit that the provider has not looked at, it is current no more; once looked at it is again.
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("c")}})).await;
        let edited = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("c");
        let copy = scene.copy_until(homer, "www", ariadne, "the edit", edited).await;
        scene.until(homer, "www", "an outdated Ready", |seen| observed(seen) < Some(seen.generation())).await;
        ariadne
            .set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"conditions": ready(copy.generation())}))
            .await;
        scene.until(homer, "www", "a current Ready again", current).await;
    });
}

#[test]
fn what_a_person_writes_into_the_status_is_put_right() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "status-put-right", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Degraded"})).await;
        let degraded = |seen: &Object| seen.text("/status/status") == "Degraded";
        scene.until(homer, "www", "the status", degraded).await;
        let lie = json!({"status": "Available", "relatedResources": {"x": {"gvk": SECRET.gvk(), "name": "x"}}});
        homer.set_status(&CERTIFICATE, scene.ns(), "www", lie).await;
        let right = |seen: &Object| degraded(seen) && seen.at("/status/relatedResources").is_null();
        scene.until(homer, "www", "the provider's status again", right).await;
    });
}

#[test]
fn a_status_without_conditions_gets_none() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "status-plain", &[homer]).await;
        let mine = json!({"key": "color", "valueIn": [scene.name]});
        scene.accept_kind(&PLAIN, ariadne, &[mine], Value::Null).await;
        homer.create(&PLAIN, scene.ns(), "p", json!({"spec": {"color": scene.name}})).await;
        let name = homer.copy_name("p");
        ariadne.until_there(&PLAIN, scene.ns(), &name).await;
        let status = json!({"phase": "Up", "url": "https://p.test"});
        ariadne.set_status(&PLAIN, scene.ns(), &name, status.clone()).await;
        let origin =
            homer.until(&PLAIN, scene.ns(), "p", "the status", |seen| seen.text("/status/phase") == "Up").await;
        assert_eq!(origin.at("/status"), &status);
        scene.barrier(homer, ariadne).await;
        let rested = homer.get(&PLAIN, scene.ns(), "p").await;
        assert_eq!((rested.at("/status"), rested.version()), (&status, origin.version()));
    });
}
