//! A provider is taken out of the configuration, or does not answer.

use std::fs;

use e2e::{
    Object, Scene, Tally, World,
    kind::{CERTIFICATE, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION},
    traveller::{NEW_PROVIDER, PROVIDER, settled_at},
};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, controllers, engage, file, served};

/// Waits until so many providers are engaged.
async fn until_engaged(world: &World, count: usize) {
    let wanted = format!("resource_broker_clusters{{role=\"provider\",state=\"Ready\"}} {count}\n");
    let what = format!("{count} providers to be engaged");
    let guard = world.broker().await;
    let engaged = harness::wait_for(e2e::DEADLINE, &what, async || {
        let metrics = guard.as_ref().unwrap().metrics().await?;
        anyhow::ensure!(metrics.contains(&wanted), "{metrics}");
        Ok(())
    });
    engaged.await.unwrap();
}

/// All are in the configuration, whatever the test before has left.
async fn all_engaged(world: &World) {
    for provider in world.providers() {
        engage(world, provider);
    }
    until_engaged(world, world.providers().len()).await;
}

#[test]
fn what_a_provider_held_is_placed_anew_when_it_is_taken_out() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        all_engaged(world).await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-orphans", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        scene.accept(ariadne, json!({"priority": 1})).await;
        scene.accept(theseus, Value::Null).await;
        let (web, old) = served(&scene, homer, "web", ariadne).await;
        let (gone, _) = served(&scene, homer, "gone", ariadne).await;

        // Back before the grace is over: nothing moves.
        fs::remove_file(file(world, ariadne)).unwrap();
        let told = |seen: &Object| seen.has("Brokered", "False", "ProviderUnreachable");
        web.until("to say that its provider is not engaged", told).await;
        engage(world, ariadne);
        web.until_served_by(ariadne).await;
        assert_eq!(web.copy(ariadne).await.uid(), old.uid());

        fs::remove_file(file(world, ariadne)).unwrap();
        web.until_served_by(theseus).await;
        assert_eq!(web.copy(ariadne).await.uid(), old.uid(), "nobody can reach it");
        gone.until_served_by(theseus).await;
        gone.delete().await;
        gone.until_gone().await;

        engage(world, ariadne);
        for traveller in [web, gone] {
            traveller.until_copy_gone(ariadne).await;
        }
        let seen = web.get().await;
        assert!(settled_at(theseus)(&seen), "it stays where it is: {seen}");
        assert!(web.find_copy(theseus).await.is_some());
    });
}

#[test]
fn a_move_goes_on_when_its_source_is_taken_out_and_elsewhere_when_its_target_is() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        all_engaged(world).await;
        let [homer, ariadne, theseus, icarus] = cast(world);
        let scene = Scene::new(world, "moves-orphaned", &[homer]).await;
        let brought_up = controllers(&scene, &[ariadne]);
        let letter = |letter: &str| json!({"filters": [{"key": "fqdn", "prefix": letter}]});
        scene.accept(ariadne, letter("a-")).await;
        let mut best = letter("b-");
        best["priority"] = json!(9);
        scene.accept(theseus, best).await;
        let (source, _) = served(&scene, homer, "a-source", ariadne).await;
        drop(brought_up);
        source.edit(json!({"fqdn": scene.fqdn("b-source")})).await;
        source.copy(theseus).await;
        // The target goes: its turn comes to the next.
        fs::remove_file(file(world, theseus)).unwrap();
        let waits = |seen: &Object| seen.condition("Moving").is_some_and(|told| told.message.contains("not engaged"));
        source.until("to wait for a target that is not engaged", waits).await;
        scene.accept(icarus, letter("b-")).await;
        source.copy(icarus).await;
        assert!(source.find_copy(theseus).await.is_some(), "nobody can reach it");
        // The source goes: nobody else serves it, so the new copy does.
        fs::remove_file(file(world, ariadne)).unwrap();
        until_engaged(world, 1).await;
        let _controllers = controllers(&scene, &[icarus]);
        source.until_served_by(icarus).await;
        for provider in [ariadne, theseus] {
            assert!(source.find_copy(provider).await.is_some(), "nobody can reach it");
            engage(world, provider);
        }
        for provider in [ariadne, theseus] {
            source.until_copy_gone(provider).await;
        }
    });
}

#[test]
fn an_unreachable_provider_moves_nothing_unless_its_accept_api_says_so() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        all_engaged(world).await;
        let [homer, ariadne, theseus, icarus] = cast(world);
        let scene = Scene::new(world, "moves-unreachable", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus, icarus]);
        let impatient =
            json!({"priority": 1, "unreachableAfterSeconds": 1, "filters": [{"key": "fqdn", "prefix": "soon"}]});
        scene.accept(icarus, impatient).await;
        let patient = json!({"priority": 1, "filters": [{"key": "fqdn", "prefix": "never"}]});
        scene.accept(icarus, patient).await;
        let (soon, stranded) = served(&scene, homer, "soon", icarus).await;
        let (never, kept) = served(&scene, homer, "never", icarus).await;
        scene.accept(theseus, Value::Null).await;
        icarus.cluster.stop();
        soon.until_served_by(theseus).await;
        let told = |seen: &Object| seen.has("Brokered", "False", "ProviderUnreachable");
        never.until("to say that its provider is unreachable", told).await;
        scene.barrier(homer, theseus).await;
        let seen = never.get().await;
        assert!(seen.annotation(PROVIDER) == Some("icarus") && seen.annotation(NEW_PROVIDER).is_none(), "{seen}");
        assert!(never.find_copy(theseus).await.is_none(), "it did not move");

        let tally = Tally::begin([theseus]).await;
        icarus.cluster.start_again().await.unwrap();
        soon.until_copy_gone(icarus).await;
        never.until("to be served again", settled_at(icarus)).await;
        assert_eq!(never.copy(icarus).await.uid(), kept.uid());
        assert_ne!(soon.copy(theseus).await.uid(), stranded.uid());
        let touched = tally.requests().await.writes().on("certificates").within(scene.ns());
        assert!(touched.0.is_empty(), "the copy that serves is not touched: {touched}");
    });
}

/// The Migration that has not ended, in the state in which its stage runs.
async fn until_running(world: &World, namespace: &str) -> Object {
    let found = harness::wait_for(e2e::DEADLINE, "a Migration whose stage runs", async || {
        let all = world.hub.list(&MIGRATION, namespace).await;
        let running = all.iter().find(|one| one.text("/status/state") == "InitialInProgress").cloned();
        running.ok_or_else(|| format!("{all:?}"))
    });
    found.await.unwrap()
}

#[test]
fn a_cluster_that_is_taken_out_while_stages_run_ends_them_or_is_done_without() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        all_engaged(world).await;
        let hub = &world.hub;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-staged", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        let stages = json!([{
            "name": "wait",
            "progress": true,
            "templates": {"work": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"fqdn": "${to.spec.fqdn}"}}},
            "successConditions": ["has(work.data.done)"],
        }]);
        let spec = json!({"from": CERTIFICATE.gvk(), "to": CERTIFICATE.gvk(), "stages": stages});
        hub.create(&MIGRATION_CONFIGURATION, "default", "staged", json!({"spec": spec})).await;
        let letter = |letter: &str| json!({"filters": [{"key": "fqdn", "prefix": letter}]});
        scene.accept(ariadne, letter("a-")).await;
        scene.accept(theseus, letter("b-")).await;
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        let first = until_running(world, scene.ns()).await;
        let id = first.text("/status/id").to_owned();
        hub.until_there(&CONFIG_MAP, scene.ns(), &format!("{id}-work")).await;

        // The target goes: the stage ends, nothing of it is left, the old copy is as it was.
        fs::remove_file(file(world, theseus)).unwrap();
        hub.until_gone(&CONFIG_MAP, scene.ns(), &format!("{id}-work")).await;
        hub.until_gone(&MIGRATION, scene.ns(), first.name()).await;
        let stays =
            |seen: &Object| seen.has("Accepted", "False", "NotAccepted") && seen.annotation(NEW_PROVIDER).is_none();
        web.until("to stay where it is", stays).await;
        assert_eq!(web.copy(ariadne).await.uid(), old.uid());

        // It is back: the move begins anew. Then the source goes: the stages end without it.
        engage(world, theseus);
        let second = until_running(world, scene.ns()).await;
        let id = second.text("/status/id").to_owned();
        let work = hub.until_there(&CONFIG_MAP, scene.ns(), &format!("{id}-work")).await;
        fs::remove_file(file(world, ariadne)).unwrap();
        until_engaged(world, 2).await;
        hub.edit(&CONFIG_MAP, scene.ns(), work.name(), json!({"data": {"done": "yes"}})).await;
        web.until_served_by(theseus).await;
        hub.until_gone(&CONFIG_MAP, scene.ns(), work.name()).await;
        hub.until_gone(&MIGRATION, scene.ns(), second.name()).await;
        engage(world, ariadne);
        web.until_copy_gone(ariadne).await;
        hub.delete(&MIGRATION_CONFIGURATION, "default", "staged").await;
    });
}
