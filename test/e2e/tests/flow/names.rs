//! Names of copies: long ones, taken ones.

use e2e::{Scene, kind::CERTIFICATE, place::consumer_hash};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{ARIADNE, HOMER, SECOND, WORLD};

/// What the contract says of a name over the limit: cut, and `-<8 hex>` of the whole.
fn cut(whole: &str) -> String {
    let mut tail = hex::encode(Sha256::digest(whole));
    tail.truncate(8);
    format!("{}-{tail}", &whole[..253 - 9])
}

#[test]
fn names_of_253_characters_are_cut_and_stay_apart() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "names-long", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let names = ["a", "b"].map(|last| format!("{}{last}", "n".repeat(252)));
        for (host, name) in ["a", "b"].iter().zip(&names) {
            scene.certificate_for(homer, name, &scene.fqdn(host)).await;
        }
        for (host, name) in ["a", "b"].iter().zip(&names) {
            let copy_name = cut(&format!("{}-{name}", consumer_hash(HOMER)));
            assert_eq!(copy_name.len(), 253);
            let copy = ariadne.until_there(&CERTIFICATE, scene.ns(), &copy_name).await;
            assert_eq!(copy.text("/spec/fqdn"), scene.fqdn(host));
            assert_eq!(copy.annotation(broker_api::keys::CONSUMER_NAME), Some(&**name));
            let status = json!({"status": if *host == "a" { "Available" } else { "Failed" }});
            ariadne.set_status(&CERTIFICATE, scene.ns(), &copy_name, status).await;
        }
        scene.until(homer, &names[0], "its own status", |seen| seen.text("/status/status") == "Available").await;
        scene.until(homer, &names[1], "its own status", |seen| seen.text("/status/status") == "Failed").await;
        for name in &names {
            homer.delete(&CERTIFICATE, scene.ns(), name).await;
            homer.until_gone(&CERTIFICATE, scene.ns(), name).await;
        }
        assert_eq!(ariadne.list(&CERTIFICATE, scene.ns()).await, []);
    });
}

#[test]
fn an_object_that_is_not_ours_is_never_touched_and_both_sides_are_told() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "names-conflict", &[second]).await;
        ariadne.make_namespace(scene.ns()).await;
        let name = second.copy_name("www");
        let body = json!({"metadata": {"labels": {"theirs": "yes"}}, "spec": {"fqdn": "theirs.example.org"}});
        let foreign = ariadne.create(&CERTIFICATE, scene.ns(), &name, body).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(second, "www").await;

        let origin =
            scene.until(second, "www", "NameConflict", |seen| seen.has("Brokered", "False", "NameConflict")).await;
        let told = origin.condition("Brokered").unwrap().message;
        assert!(told.contains(&name) && told.contains(ARIADNE), "{told}");
        second.until_event(scene.ns(), "www", "NameConflict", |told| told.message.contains(&name)).await;
        ariadne.until_event(scene.ns(), &name, "NameConflict", |_| true).await;

        // Its status is not shown here, and it is left alone whatever happens to the origin.
        ariadne.set_status(&CERTIFICATE, scene.ns(), &name, json!({"status": "Available"})).await;
        second.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("other")}})).await;
        scene.barrier(second, ariadne).await;
        let seen = ariadne.get(&CERTIFICATE, scene.ns(), &name).await;
        assert_eq!(
            (seen.uid(), seen.generation(), seen.at("/metadata/labels")),
            (foreign.uid(), 1, foreign.at("/metadata/labels"))
        );
        assert_eq!(seen.at("/metadata/annotations"), &Value::Null);
        assert_eq!(second.get(&CERTIFICATE, scene.ns(), "www").await.text("/status/status"), "");
        second.delete(&CERTIFICATE, scene.ns(), "www").await;
        second.until_gone(&CERTIFICATE, scene.ns(), "www").await;
        let seen = ariadne.get(&CERTIFICATE, scene.ns(), &name).await;
        assert!(!seen.is_deleting() && seen.uid() == foreign.uid(), "{seen}");
    });
}

#[test]
fn a_name_that_becomes_free_is_used() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "names-freed", &[homer]).await;
        ariadne.make_namespace(scene.ns()).await;
        let name = homer.copy_name("www");
        ariadne.create(&CERTIFICATE, scene.ns(), &name, json!({"spec": {"fqdn": "theirs.example.org"}})).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        scene.until(homer, "www", "NameConflict", |seen| seen.has("Brokered", "False", "NameConflict")).await;
        ariadne.delete(&CERTIFICATE, scene.ns(), &name).await;
        let ours = |seen: &e2e::Object| seen.text("/spec/fqdn") == scene.fqdn("www");
        scene.copy_until(homer, "www", ariadne, "our copy", ours).await;
        scene.until(homer, "www", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
    });
}

/// A12: one consumer's object is named as the copy of another consumer's is.
#[test]
fn an_object_named_like_another_consumers_copy_is_another_object() {
    WORLD.run(async |world| {
        let (homer, second, ariadne) = (world.consumer(HOMER), world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "names-a12", &[homer, second]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate_for(second, "www", &scene.fqdn("victim")).await;
        let victim = scene.copy(second, "www", ariadne).await;
        scene.certificate_for(homer, victim.name(), &scene.fqdn("attacker")).await;
        let attacker = scene.copy(homer, victim.name(), ariadne).await;
        assert_ne!(attacker.name(), victim.name());
        homer.delete(&CERTIFICATE, scene.ns(), victim.name()).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), victim.name()).await;
        let seen = scene.copy(second, "www", ariadne).await;
        assert_eq!((seen.version(), seen.is_deleting()), (victim.version(), false), "{seen}");
    });
}
