//! Namespaces and CRDs that come late, go and come again.

use e2e::{
    Object, Place, Scene, World,
    kind::{CRD, NAMESPACE},
};
use serde_json::{Value, json};

use crate::{FINALIZER, FLEETING, LATE, PEACE, PROVIDER, WORLD, cast, placed};

async fn install(place: &Place, kind: &e2e::Kind) {
    place.apply(&kind.crd().to_string()).await;
}

#[test]
fn a_namespace_deleted_under_its_copies_comes_back() {
    WORLD.run(async |world| {
        let _order = PEACE.read().await;
        let [homer, _, _, theseus] = cast(world);
        let scene = Scene::new(world, "namespace-gone", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        let mut copies = Vec::new();
        for name in ["one", "two"] {
            scene.certificate(homer, name).await;
            copies.push(scene.copy(homer, name, theseus).await);
            scene.until(homer, name, "to be placed", placed).await;
        }
        let before = theseus.get(&NAMESPACE, "", scene.ns()).await;
        theseus.delete(&NAMESPACE, "", scene.ns()).await;
        for (name, copy) in ["one", "two"].into_iter().zip(&copies) {
            let again = |seen: &Object| seen.uid() != copy.uid() && !seen.is_deleting();
            scene.copy_until(homer, name, theseus, "to be made again", again).await;
            let origin = scene.until(homer, name, "to be placed", placed).await;
            assert!(!origin.is_deleting() && origin.finalizers().contains(&FINALIZER), "{origin}");
        }
        let after = theseus.get(&NAMESPACE, "", scene.ns()).await;
        assert_ne!(after.uid(), before.uid(), "it is another namespace");
    });
}

#[test]
fn a_crd_that_comes_late_is_picked_up() {
    WORLD.run(async |world| {
        let _order = PEACE.read().await;
        let [homer, bart, _, theseus] = cast(world);
        let scene = Scene::new(world, "late", &[homer, bart]).await;
        install(homer, &LATE).await;
        scene.accept_kind(&LATE, theseus, &[], Value::Null).await;
        homer.create(&LATE, scene.ns(), "early", json!({"spec": {"size": 1}})).await;
        let waits = |seen: &Object| {
            seen.has("Brokered", "False", "NoProvider")
                && seen.condition("Brokered").unwrap().message.contains("install its CRD")
        };
        homer.until(&LATE, scene.ns(), "early", "to wait for the provider's CRD", waits).await;
        install(theseus, &LATE).await;
        theseus.until_there(&LATE, scene.ns(), &homer.copy_name("early")).await;
        homer.until(&LATE, scene.ns(), "early", "to be placed", placed).await;

        install(bart, &LATE).await;
        bart.create(&LATE, scene.ns(), "later", json!({"spec": {"size": 2}})).await;
        let copy = theseus.until_there(&LATE, scene.ns(), &bart.copy_name("later")).await;
        assert_eq!(copy.at("/spec/size"), 2, "{copy}");
        bart.until(&LATE, scene.ns(), "later", "to be placed", placed).await;
    });
}

async fn serve_fleeting(world: &World, scene: &Scene<'_>) -> Object {
    let [homer, _, ariadne, theseus] = cast(world);
    for place in [homer, ariadne, theseus] {
        install(place, &FLEETING).await;
    }
    scene.accept_kind(&FLEETING, theseus, &[], Value::Null).await;
    homer.create(&FLEETING, scene.ns(), "web", json!({"spec": {"size": 1}})).await;
    homer.create(&FLEETING, scene.ns(), "leaves", json!({"spec": {"size": 1}})).await;
    for name in ["web", "leaves"] {
        homer.until(&FLEETING, scene.ns(), name, "to be placed", placed).await;
    }
    // Not before, for who is known first serves them; now it is where they could move.
    scene.accept_kind(&FLEETING, ariadne, &[], Value::Null).await;
    theseus.until_there(&FLEETING, scene.ns(), &homer.copy_name("web")).await
}

#[test]
fn a_crd_removed_from_a_provider_deletes_and_moves_nothing() {
    WORLD.run(async |world| {
        let _order = PEACE.read().await;
        let [homer, _, ariadne, theseus] = cast(world);
        let scene = Scene::new(world, "fleeting", &[homer]).await;
        let before = serve_fleeting(world, &scene).await;
        let crd = format!("{}.{}", FLEETING.plural, FLEETING.group);
        theseus.delete(&CRD, "", &crd).await;
        theseus.until_gone(&CRD, "", &crd).await;

        let missing = |seen: &Object| {
            seen.has("Brokered", "False", "KindMissing")
                && seen.condition("Brokered").unwrap().message.contains("install its CRD")
        };
        let held = homer.until(&FLEETING, scene.ns(), "web", "to miss its kind", missing).await;
        assert_eq!(held.annotation(PROVIDER), Some("theseus"), "{held}");
        assert!(!held.is_deleting() && held.finalizers().contains(&FINALIZER), "{held}");
        assert!(ariadne.list(&FLEETING, scene.ns()).await.is_empty(), "nothing moves");
        homer.delete(&FLEETING, scene.ns(), "leaves").await;
        let says = |seen: &Object| seen.condition("Brokered").is_some_and(|told| told.message.contains("theseus"));
        let leaving = homer.until(&FLEETING, scene.ns(), "leaves", "to say why it waits", says).await;
        assert!(leaving.finalizers().contains(&FINALIZER), "what the provider holds is not known: {leaving}");

        install(theseus, &FLEETING).await;
        let again = |seen: &Object| seen.uid() != before.uid();
        theseus.until(&FLEETING, scene.ns(), before.name(), "to be made again", again).await;
        homer.until(&FLEETING, scene.ns(), "web", "to be placed", placed).await;
        homer.until_gone(&FLEETING, scene.ns(), "leaves").await;
    });
}
