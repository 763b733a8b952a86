//! An API server is killed and comes back.

use e2e::{
    Object, Scene,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{FINALIZER, PEACE, PROVIDER, WORLD, available, cast, make_available, placed};

fn unreachable(seen: &Object) -> bool {
    seen.has("Brokered", "False", "ProviderUnreachable")
}

#[test]
fn a_provider_is_killed_and_comes_back() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, _, ariadne, theseus] = cast(world);
        let scene = Scene::new(world, "provider-outage", &[homer]).await;
        let preferred = scene.accept(theseus, json!({"priority": 1})).await;
        // Else the first object goes to who is heard of first.
        let is_ready = |seen: &Object| seen.has("Ready", "True", "Ready");
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &preferred, "to be taken in", is_ready).await;
        scene.accept(ariadne, Value::Null).await;
        for name in ["web", "gone", "removed"] {
            scene.certificate(homer, name).await;
            scene.copy(homer, name, theseus).await;
            scene.until(homer, name, "to be placed", placed).await;
        }
        let removed = scene.copy(homer, "removed", theseus).await;
        theseus.cluster.stop();

        let told = scene.until(homer, "web", "to say that its provider is unreachable", unreachable).await;
        assert!(told.condition("Brokered").unwrap().message.contains("theseus"), "{told}");
        homer.until_event(scene.ns(), "web", "ProviderUnreachable", |told| told.message.contains("theseus")).await;
        let (code, body) = world.broker().await.as_ref().unwrap().health("/readyz").await.unwrap();
        assert_eq!(code, 200, "an unreachable cluster is not fatal: {body}");
        assert!(body.contains("provider#theseus is unreachable"), "{body}");

        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": scene.fqdn("edited")}})).await;
        homer.delete(&CERTIFICATE, scene.ns(), "gone").await;
        let waits = |told: &e2e::Told| told.message.contains("theseus") && told.message.contains("force-delete");
        homer.until_event(scene.ns(), "gone", "ProviderUnreachable", waits).await;
        let says = |seen: &Object| seen.condition("Brokered").is_some_and(|told| waits(&told));
        let held = scene.until(homer, "gone", "to say why its deletion waits", says).await;
        assert!(held.is_deleting() && held.finalizers().contains(&FINALIZER), "{held}");
        scene.certificate(homer, "fresh").await;
        scene.copy(homer, "fresh", ariadne).await;
        for name in ["web", "removed"] {
            let seen = homer.get(&CERTIFICATE, scene.ns(), name).await;
            assert_eq!(seen.annotation(PROVIDER), Some("theseus"), "it stays: {seen}");
            assert!(scene.find_copy(homer, name, ariadne).await.is_none(), "{name} did not move");
        }

        // A frozen broker cannot see this deletion; the restarted server cannot tell it of it later.
        let mut guard = world.broker().await;
        let broker = guard.as_mut().unwrap();
        broker.process().pause().await.unwrap();
        theseus.cluster.start_again().await.unwrap();
        theseus.delete(&CERTIFICATE, scene.ns(), removed.name()).await;
        theseus.until_gone(&CERTIFICATE, scene.ns(), removed.name()).await;
        broker.process().resume().unwrap();
        drop(guard);

        let edited = scene.fqdn("edited");
        let copy = scene.copy_until(homer, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == edited).await;
        make_available(theseus, &copy).await;
        scene.until(homer, "web", "its status", |seen| available(seen) && placed(seen)).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "gone").await;
        assert!(scene.find_copy(homer, "gone", theseus).await.is_none(), "its copy went before it");
        let again = |seen: &Object| seen.uid() != removed.uid();
        scene.copy_until(homer, "removed", theseus, "to be made again", again).await;
    });
}

#[test]
fn a_consumer_is_killed_and_comes_back() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, bart, _, theseus] = cast(world);
        let scene = Scene::new(world, "consumer-outage", &[homer, bart]).await;
        scene.accept(theseus, Value::Null).await;
        let mut copies = Vec::new();
        for name in ["web", "orphan"] {
            scene.certificate(homer, name).await;
            copies.push(scene.copy(homer, name, theseus).await);
            scene.until(homer, name, "to be placed", placed).await;
        }
        homer.cluster.stop();
        make_available(theseus, &copies[0]).await;
        theseus
            .edit(&CERTIFICATE, scene.ns(), copies[1].name(), json!({"spec": {"fqdn": "changed.at.the.provider"}}))
            .await;

        // Others go on, and this tells that the broker has seen what was done before.
        scene.certificate(bart, "web").await;
        let other = scene.copy(bart, "web", theseus).await;
        make_available(theseus, &other).await;
        scene.until(bart, "web", "its status", available).await;
        for copy in &copies {
            let kept = theseus.get(&CERTIFICATE, scene.ns(), copy.name()).await;
            assert_eq!(kept.uid(), copy.uid(), "nothing is deleted: {kept}");
            assert!(!kept.is_deleting(), "{kept}");
        }

        let mut guard = world.broker().await;
        let broker = guard.as_mut().unwrap();
        broker.process().pause().await.unwrap();
        homer.cluster.start_again().await.unwrap();
        homer.edit(&CERTIFICATE, scene.ns(), "orphan", json!({"metadata": {"finalizers": null}})).await;
        homer.delete(&CERTIFICATE, scene.ns(), "orphan").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "orphan").await;
        broker.process().resume().unwrap();
        drop(guard);

        scene.until(homer, "web", "the status that it missed", available).await;
        theseus.until_gone(&CERTIFICATE, scene.ns(), copies[1].name()).await;
        let kept = theseus.get(&CERTIFICATE, scene.ns(), copies[0].name()).await;
        assert_eq!(kept.uid(), copies[0].uid(), "the copy is the same: {kept}");
    });
}
