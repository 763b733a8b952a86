//! What the broker says of an AcceptAPI: in use or not, and how many objects it holds.

use broker_api::keys;
use e2e::{
    Object, Scene,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, WORLD};

fn is_ready(seen: &Object) -> bool {
    seen.has("Ready", "True", "Ready") && seen.at("/status/observedGeneration") == seen.at("/metadata/generation")
}

#[test]
fn ready_and_placed_follow_what_is_so() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "accept-placed", &[homer]).await;
        let accept = scene.accept(ariadne, Value::Null).await;
        let placed = async |count: u64| {
            let test = |seen: &Object| is_ready(seen) && seen.at("/status/placed") == &json!(count);
            ariadne.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, &format!("placed {count}"), test).await
        };
        placed(0).await;
        scene.certificate(homer, "a").await;
        scene.certificate(homer, "b").await;
        placed(2).await;
        homer.delete(&CERTIFICATE, scene.ns(), "a").await;
        placed(1).await;
        let edited = ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, json!({"spec": {"priority": 7}})).await;
        assert_eq!(edited.generation(), 2);
        placed(1).await;
    });
}

#[test]
fn what_is_wrong_with_it_is_said_and_it_accepts_nothing() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "accept-invalid", &[homer]).await;
        let wrong = [
            (json!({"expression": "self.spec.fqdn =="}), "spec.expression"),
            (json!({"expression": "object.spec.fqdn == 'x'"}), "spec.expression: line 1, column 1: unknown name"),
            (json!({"filters": [{"key": "v", "boundary": {"min": "8Gi", "max": "4Gi"}}]}), "spec.filters[1].boundary"),
            (json!({"filters": [{"key": "a..b", "suffix": "x"}]}), "spec.filters[1].key"),
        ];
        let mut names = Vec::new();
        for (spec, _) in &wrong {
            names.push(scene.accept(theseus, spec.clone()).await);
        }
        for ((_, word), name) in wrong.iter().zip(&names) {
            let invalid = |seen: &Object| {
                seen.has("Ready", "False", "Invalid")
                    && seen.condition("Ready").is_some_and(|told| told.message.contains(word))
            };
            theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, name, word, invalid).await;
        }
        scene.certificate(homer, "www").await;
        scene.until(homer, "www", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        assert!(scene.find_copy(homer, "www", theseus).await.is_none());

        // Put right, it is in use at once.
        let right = json!({"spec": {"expression": format!("self.spec.fqdn.endsWith('.{}.test')", scene.name)}});
        theseus.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &names[0], right).await;
        scene.copy(homer, "www", theseus).await;
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &names[0], "Ready", is_ready).await;
    });
}

#[test]
fn a_resource_that_is_not_brokered_or_not_served_is_named() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "accept-unwatched", &[homer]).await;
        let unheard = e2e::Kind::test("Unheard", "unheards");
        let anything = json!({"key": "a", "suffix": "b"});
        let name = scene.accept_kind(&unheard, theseus, &[anything], Value::Null).await;
        let told = |seen: &Object| {
            seen.has("Ready", "False", "NotWatched")
                && seen.condition("Ready").is_some_and(|told| told.message.contains("unheards.v1.e2e.test"))
        };
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &name, "NotWatched", told).await;
    });
}

#[test]
fn the_old_brokers_finalizer_is_removed() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "accept-finalizer", &[homer]).await;
        let name = scene.accept(theseus, Value::Null).await;
        let finalizers = json!({"metadata": {"finalizers": [keys::ACCEPTAPI_FINALIZER]}});
        theseus.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &name, finalizers).await;
        theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &name).await;
        theseus.until_gone(&ACCEPT_API, ACCEPT_NAMESPACE, &name).await;
        // Others' finalizers are theirs.
        let name = scene.accept(theseus, Value::Null).await;
        let finalizers = json!({"metadata": {"finalizers": ["e2e.test/hold", keys::ACCEPTAPI_FINALIZER]}});
        theseus.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &name, finalizers).await;
        theseus
            .until(&ACCEPT_API, ACCEPT_NAMESPACE, &name, "one finalizer", |seen| seen.finalizers() == ["e2e.test/hold"])
            .await;
    });
}
