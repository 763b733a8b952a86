//! Objects at the limits: of size and of names.

use e2e::{
    Object, Scene, Tally,
    kind::{CERTIFICATE, WIDGET},
};
use serde_json::{Value, json};

use crate::{WORLD, cast, placed, unharmed};

/// etcd's limit on a request (`--max-request-bytes`), in bytes.
const ETCD_LIMIT: usize = 1_572_864;

fn widget(scene: &Scene<'_>, name: &str, bytes: usize) -> Value {
    let spec = json!({"for": scene.name, "payload": "x".repeat(bytes)});
    WIDGET.object(scene.ns(), name, &json!({"spec": spec}))
}

#[test]
fn an_object_over_a_mebibyte_is_copied() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "large", &[homer]).await;
        scene.accept_kind(&WIDGET, theseus, &[json!({"key": "for", "valueIn": ["large"]})], Value::Null).await;
        homer.try_create(&WIDGET, &widget(&scene, "large", 1_200_000)).await.unwrap();
        let copy = theseus.until_there(&WIDGET, scene.ns(), &homer.copy_name("large")).await;
        assert_eq!(copy.text("/spec/payload").len(), 1_200_000);
        homer.until(&WIDGET, scene.ns(), "large", "to be placed", placed).await;
        theseus.set_status(&WIDGET, scene.ns(), copy.name(), json!({"phase": "Up"})).await;
        homer.until(&WIDGET, scene.ns(), "large", "its status", |seen| seen.text("/status/phase") == "Up").await;
        unharmed(world).await;
    });
}

#[test]
fn an_object_that_cannot_grow_any_more_is_told_of() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "full", &[homer]).await;
        scene.accept_kind(&WIDGET, theseus, &[json!({"key": "for", "valueIn": ["full"]})], Value::Null).await;
        let tally = Tally::begin([homer, theseus]).await;
        // The largest that the consumer takes: finalizer and annotations no longer fit.
        let mut bytes = ETCD_LIMIT;
        while homer.try_create(&WIDGET, &widget(&scene, "full", bytes)).await.is_err() {
            bytes -= 100;
            assert!(bytes > ETCD_LIMIT - 5_000, "something else is wrong");
        }
        let told = homer.until_event(scene.ns(), "full", "TooLarge", |told| told.message.contains("full")).await;
        assert!(told.message.contains("smaller"), "it names the remedy: {told:?}");
        homer.create(&WIDGET, scene.ns(), "small", json!({"spec": {"for": "full"}})).await;
        theseus.until_there(&WIDGET, scene.ns(), &homer.copy_name("small")).await;
        let requests = tally.requests().await.within(scene.ns());
        let refused = requests.writes().only(|request| request.event.name == "full");
        assert!(refused.0.len() <= 10, "no retry storm: {refused}");
        // A person makes it smaller: it is served.
        homer.edit(&WIDGET, scene.ns(), "full", json!({"spec": {"payload": "x"}})).await;
        theseus.until_there(&WIDGET, scene.ns(), &homer.copy_name("full")).await;
        unharmed(world).await;
    });
}

#[test]
fn names_of_253_characters() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "long-names", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        // They differ only in what is cut off.
        let names = ["a", "b"].map(|last| format!("{}{last}", "n".repeat(252)));
        for name in &names {
            scene.certificate_for(homer, name, &scene.fqdn("web")).await;
            scene.until(homer, name, "to be placed", placed).await;
        }
        let copies = theseus.list(&CERTIFICATE, scene.ns()).await;
        assert_eq!(copies.len(), 2, "{copies:?}");
        for copy in &copies {
            assert!(copy.name().len() <= 253 && copy.name().starts_with(&homer.copy_name("n")), "{copy}");
            let origin = copy.annotation("broker.platform-mesh.io/consumer-name").unwrap().to_owned();
            let status = json!({"status": "Available", "conditions": [{
                "type": "Ready", "status": "True", "reason": "Issued", "message": origin,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]});
            theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
            let own = |seen: &Object| seen.condition("Ready").is_some_and(|told| told.message == origin);
            scene.until(homer, &origin, "its own status", own).await;
        }
        homer.delete(&CERTIFICATE, scene.ns(), &names[0]).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), &names[0]).await;
        assert_eq!(theseus.list(&CERTIFICATE, scene.ns()).await.len(), 1, "the other one stays");
        unharmed(world).await;
    });
}
