//! The broker is killed during a move, and started again: the end is the same.

use e2e::{
    Object, Recording, Scene, Tally, World,
    kind::{CERTIFICATE, SECRET},
    traveller::{moving, secret_of, settled_at},
    until_quiet,
};
use serde_json::json;

use crate::{PEACE, WORLD, cast, controllers, prefix, served};

/// A restarted broker has written what it has to write when it has asked for nothing for so long.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(2500);

async fn restart(world: &World) {
    let mut guard = world.broker().await;
    let broker = guard.as_mut().unwrap();
    broker.kill();
    broker.start_again(&world.lab).await;
}

#[test]
fn killed_at_each_point_of_a_move_the_end_is_the_same() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-killed", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        scene.accept(theseus, prefix("b-")).await;
        let brought_up = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        drop(brought_up);
        let secrets = Recording::begin(homer, &SECRET, scene.ns()).await;
        let copies = Recording::begin(theseus, &CERTIFICATE, scene.ns()).await;

        // Just marked.
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.until("to be marked", moving(ariadne, theseus)).await;
        restart(world).await;
        // The copy is made, and not ready.
        let new = web.copy(theseus).await;
        restart(world).await;
        assert_eq!(web.copy(theseus).await.uid(), new.uid());
        assert!(moving(ariadne, theseus)(&web.get().await));
        // The copy becomes ready while nobody looks.
        {
            let mut guard = world.broker().await;
            let broker = guard.as_mut().unwrap();
            broker.kill();
            let _controllers = controllers(&scene, &[theseus]);
            web.copy_until(theseus, "to be ready", |seen| seen.text("/status/status") == "Available").await;
            assert_eq!(web.copy(ariadne).await.uid(), old.uid(), "the old copy stays while nobody looks");
            broker.start_again(&world.lab).await;
        }
        // As soon as the Secret is the new provider's.
        homer.until(&SECRET, scene.ns(), &web.secret(), "to be switched", secret_of(theseus)).await;
        restart(world).await;
        web.until_copy_gone(ariadne).await;
        restart(world).await;
        web.until_served_by(theseus).await;

        let secrets = secrets.of(&web.secret()).await;
        assert!(secrets.iter().all(|change| !change.deleted), "{secrets:?}");
        let copies = copies.of(new.name()).await;
        assert!(copies.iter().all(|change| change.object.uid() == new.uid()), "one new copy: {copies:?}");

        // After it is over, a restart writes nothing.
        for provider in [ariadne, theseus] {
            provider.keep_namespaces().await;
        }
        let places = [homer, ariadne, theseus, &world.hub];
        until_quiet(&places, SETTLED).await;
        let before = web.get().await;
        let tally = Tally::begin(places).await;
        restart(world).await;
        until_quiet(&places, SETTLED).await;
        let requests = tally.requests().await;
        assert_eq!(requests.writes().words(), Vec::<String>::new(), "{requests:?}");
        assert_eq!(requests.events().words(), Vec::<String>::new(), "{requests:?}");
        assert_eq!(web.get().await.version(), before.version());
    });
}

#[test]
fn killed_while_a_move_is_undone_the_old_copy_is_as_it_was() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-undone", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        scene.accept(theseus, prefix("b-")).await;
        let _controllers = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        web.copy(theseus).await;
        {
            let mut guard = world.broker().await;
            let broker = guard.as_mut().unwrap();
            broker.kill();
            web.edit(json!({"fqdn": scene.fqdn("a-web")})).await;
            broker.start_again(&world.lab).await;
        }
        web.until("to be marked as staying", settled_at(ariadne)).await;
        restart(world).await;
        // Shown when it fails.
        println!("{} {}", web.get().await, web.copy(ariadne).await);
        web.until_copy_gone(theseus).await;
        let kept = web.copy(ariadne).await;
        assert_eq!((kept.uid(), kept.generation()), (old.uid(), old.generation()));
        let shows = |seen: &Object| seen.text("/status/status") == "Available";
        web.until("to be served", |seen| settled_at(ariadne)(seen) && shows(seen)).await;
    });
}
