//! AcceptAPIs come, change and go: objects that wait are placed at once, those that are not concerned are not touched.

use e2e::{
    Object, Scene,
    kind::{ACCEPT_API, CERTIFICATE, VM},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

#[test]
fn an_object_that_nobody_accepts_waits_and_is_placed_the_moment_that_somebody_does() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "registry-wait", &[homer]).await;
        let created = scene.certificate(homer, "www").await;
        let waiting = |seen: &Object| seen.has("Brokered", "False", "NoProvider");
        let origin = scene.until(homer, "www", "to wait", waiting).await;
        // It waits unmarked: deleting it needs nobody.
        assert_eq!((origin.finalizers(), origin.at("/metadata/annotations")), (vec![], &Value::Null));
        assert_eq!(origin.at("/spec"), created.at("/spec"));
        scene.accept(theseus, Value::Null).await;
        scene.copy(homer, "www", theseus).await;
        scene.until(homer, "www", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
    });
}

#[test]
fn an_edited_accept_api_takes_in_what_it_accepts_now_and_touches_nothing_else() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "registry-edit", &[homer]).await;
        let prefix = |prefix: &str| json!({"key": "fqdn", "prefix": prefix});
        let accept = scene.accept(ariadne, json!({"filters": [prefix("a")]})).await;
        let bystander = scene.accept(ariadne, json!({"filters": [prefix("z")]})).await;
        for name in ["a1", "b1", "z1"] {
            scene.certificate(homer, name).await;
        }
        for name in ["a1", "z1"] {
            scene.copy(homer, name, ariadne).await;
            scene.until(homer, name, "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
        }
        scene.until(homer, "b1", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        let mut before = Vec::new();
        for name in ["a1", "z1"] {
            before.push(homer.get(&CERTIFICATE, scene.ns(), name).await.version().to_owned());
            before.push(scene.copy(homer, name, ariadne).await.version().to_owned());
        }

        // From `a` to `a` or `b`.
        let filters = json!([scene.domain_filter(), {"key": "fqdn", "pattern": "^[ab]"}]);
        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, json!({"spec": {"filters": filters}})).await;
        scene.copy(homer, "b1", ariadne).await;
        scene.barrier(homer, ariadne).await;
        let mut after = Vec::new();
        for name in ["a1", "z1"] {
            after.push(homer.get(&CERTIFICATE, scene.ns(), name).await.version().to_owned());
            after.push(scene.copy(homer, name, ariadne).await.version().to_owned());
        }
        assert_eq!(before, after, "objects that the edit does not concern were written to");

        // A deleted AcceptAPI concerns those that it holds, and no others.
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &bystander).await;
        scene.until(homer, "z1", "Accepted=False", |seen| seen.has("Accepted", "False", "NotAccepted")).await;
        assert_eq!(homer.get(&CERTIFICATE, scene.ns(), "a1").await.version(), before[0]);
    });
}

/// "Leaving a provider", as far as nobody else accepts: stay, keep the status flowing, hold the new spec back.
#[test]
fn an_object_that_its_provider_no_longer_accepts_stays_and_says_so() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let scene = Scene::new(world, "registry-leave", &[second]).await;
        let small = json!({"key": "memory", "boundary": {"min": 600_000, "max": 600_099}});
        let accept = scene.accept_kind(&VM, ariadne, &[small], Value::Null).await;
        second.create(&VM, scene.ns(), "vm", json!({"spec": {"memory": 600_001}})).await;
        let copy = ariadne.until_there(&VM, scene.ns(), &second.copy_name("vm")).await;
        second.until(&VM, scene.ns(), "vm", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;

        // The spec changes to what nobody accepts.
        second.edit(&VM, scene.ns(), "vm", json!({"spec": {"memory": 600_100}})).await;
        let refused = |seen: &Object| seen.has("Accepted", "False", "NotAccepted");
        let origin = second.until(&VM, scene.ns(), "vm", "Accepted=False", refused).await;
        let told = origin.condition("Accepted").unwrap().message;
        assert!(told.contains(&accept) && told.contains("boundary.max: 600099"), "{told}");
        assert!(origin.has("Brokered", "True", "Placed"), "it is served still: {origin}");
        second.until_event(scene.ns(), "vm", "NotAccepted", |event| event.message.contains(&accept)).await;
        ariadne.set_status(&VM, scene.ns(), copy.name(), json!({"status": "Degraded"})).await;
        let flows = |seen: &Object| seen.text("/status/status") == "Degraded" && refused(seen);
        second.until(&VM, scene.ns(), "vm", "its status", flows).await;
        let held = ariadne.get(&VM, scene.ns(), copy.name()).await;
        assert_eq!((held.at("/spec/memory"), held.is_deleting()), (&json!(600_001), false));

        // Accepted again, the new spec goes through and the condition goes.
        second.edit(&VM, scene.ns(), "vm", json!({"spec": {"memory": 600_002}})).await;
        let edited = |seen: &Object| seen.at("/spec/memory") == 600_002;
        ariadne.until(&VM, scene.ns(), copy.name(), "the accepted spec", edited).await;
        let accepted = |seen: &Object| seen.condition("Accepted").is_none_or(|told| told.status == "True");
        second.until(&VM, scene.ns(), "vm", "to be accepted", accepted).await;
    });
}

#[test]
fn an_accept_api_that_is_made_again_finds_its_objects_where_they_were() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "registry-again", &[homer]).await;
        let accept = scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
        scene.until(homer, "www", "Accepted=False", |seen| seen.has("Accepted", "False", "NotAccepted")).await;
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("edited")}})).await;
        scene.barrier(homer, theseus).await;
        let held = scene.copy(homer, "www", ariadne).await;
        assert_eq!((held.uid(), held.text("/spec/fqdn")), (copy.uid(), &*scene.fqdn("www")));
        scene.accept(ariadne, Value::Null).await;
        let edited = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("edited") && seen.uid() == copy.uid();
        scene.copy_until(homer, "www", ariadne, "the edit", edited).await;
    });
}

#[test]
fn a_new_kind_is_picked_up_when_its_definition_comes_late() {
    // The second provider serves no Gadgets until now.
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "registry-late", &[homer]).await;
        let blue = json!({"key": "color", "prefix": "blue"});
        let accept = scene.accept_kind(&crate::GADGET, theseus, &[blue], Value::Null).await;
        homer.create(&crate::GADGET, scene.ns(), "g", json!({"spec": {"color": "blue"}})).await;
        let missing = |seen: &Object| seen.has("Ready", "False", "KindMissing");
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "KindMissing", missing).await;
        theseus.apply(&crate::GADGET.crd().to_string()).await;
        theseus.until_there(&crate::GADGET, scene.ns(), &homer.copy_name("g")).await;
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "Ready", |seen| seen.has("Ready", "True", "Ready")).await;
    });
}
