//! What happens during a move: the spec changes back or to a third provider, the target fails, the object is deleted.

use e2e::{
    Object, Recording, Scene,
    kind::{CERTIFICATE, SECRET},
    traveller::{moving, secret_of, settled_at},
};
use serde_json::json;

use crate::{PEACE, WORLD, cast, controllers, prefix, reject, served, shows, tell};

#[test]
fn a_spec_that_changes_back_undoes_the_move_at_no_cost_to_the_old_copy() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-back", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        scene.accept(theseus, prefix("b-")).await;
        let _controllers = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        let secrets = Recording::begin(homer, &SECRET, scene.ns()).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        web.edit(json!({"fqdn": scene.fqdn("a-web")})).await;
        web.until_copy_gone(theseus).await;
        web.until_served_by(ariadne).await;
        let kept = web.copy(ariadne).await;
        assert_eq!((kept.uid(), kept.generation()), (old.uid(), old.generation()), "it was not touched: {kept}");
        let secrets = secrets.of(&web.secret()).await;
        let same = secrets.iter().all(|change| !change.deleted && secret_of(ariadne)(&change.object));
        assert!(same, "{secrets:?}");
        homer.until_event(scene.ns(), "a-web", "MoveUndone", |_| true).await;
    });
}

#[test]
fn a_spec_that_changes_to_a_third_provider_takes_the_second_copy_away() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, icarus] = cast(world);
        let scene = Scene::new(world, "moves-third", &[homer]).await;
        for (provider, letter) in [(ariadne, "a-"), (theseus, "b-"), (icarus, "c-")] {
            scene.accept(provider, prefix(letter)).await;
        }
        let _controllers = controllers(&scene, &[ariadne, icarus]);
        let (web, _) = served(&scene, homer, "a-web", ariadne).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        web.edit(json!({"fqdn": scene.fqdn("c-web")})).await;
        web.until_served_by(icarus).await;
        web.until_copy_gone(theseus).await;
        web.until_copy_gone(ariadne).await;
    });
}

#[test]
fn a_target_that_stops_accepting_is_replaced_by_the_next() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, icarus] = cast(world);
        let scene = Scene::new(world, "moves-target", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        let second = scene.accept(theseus, prefix("b-")).await;
        let _controllers = controllers(&scene, &[ariadne, icarus]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        let copies = Recording::begin(ariadne, &CERTIFICATE, scene.ns()).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        // Nobody else is there: it goes back to waiting, served as before.
        reject(theseus, &second).await;
        web.until_copy_gone(theseus).await;
        let stays = |seen: &Object| settled_at(ariadne)(seen) && seen.has("Accepted", "False", "NotAccepted");
        web.until("to stay at ariadne", stays).await;
        assert_eq!(web.copy(ariadne).await.uid(), old.uid());

        let second = scene.accept(theseus, prefix("b-")).await;
        web.copy(theseus).await;
        scene.accept(icarus, prefix("b-")).await;
        reject(theseus, &second).await;
        web.until_served_by(icarus).await;
        web.until_copy_gone(theseus).await;
        web.until_copy_gone(ariadne).await;
        let copies = copies.of(old.name()).await;
        assert!(copies.iter().all(|change| change.object.uid() == old.uid()), "one copy all the time: {copies:?}");
    });
}

#[test]
fn a_target_that_is_never_ready_is_replaced_by_the_next_and_comes_last() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, icarus] = cast(world);
        let scene = Scene::new(world, "moves-never", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        let mut best = prefix("b-");
        best["priority"] = json!(9);
        scene.accept(theseus, best).await;
        scene.accept(icarus, prefix("b-")).await;
        let brought_up = controllers(&scene, &[ariadne]);
        let (web, _) = served(&scene, homer, "a-web", ariadne).await;
        drop(brought_up);
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        tell(theseus, &web, "Failed").await;
        // Theseus is not ready in time, so icarus is next; neither is icarus, so theseus has another go.
        web.until("to go on to icarus", moving(ariadne, icarus)).await;
        web.until_copy_gone(theseus).await;
        web.until("to come back to theseus", moving(ariadne, theseus)).await;
        assert!(shows("Available")(&web.get().await), "the old provider serves all the time");
        let _controllers = controllers(&scene, &[theseus, icarus]);
        let moved = |seen: &Object| settled_at(theseus)(seen) || settled_at(icarus)(seen);
        web.until("to be served by one of them", moved).await;
        web.until_copy_gone(ariadne).await;
    });
}

#[test]
fn an_object_that_is_deleted_during_its_move_leaves_nothing() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-gone", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        scene.accept(theseus, prefix("b-")).await;
        let _controllers = controllers(&scene, &[ariadne]);
        let (web, _) = served(&scene, homer, "a-web", ariadne).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        let origins = Recording::begin(homer, &CERTIFICATE, scene.ns()).await;
        web.delete().await;
        web.until_gone().await;
        for provider in [ariadne, theseus] {
            assert!(web.find_copy(provider).await.is_none(), "the finalizer goes last");
        }
        homer.until_gone(&SECRET, scene.ns(), &web.secret()).await;
        assert!(origins.of("a-web").await.last().unwrap().deleted);
    });
}
