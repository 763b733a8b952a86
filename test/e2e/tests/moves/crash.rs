//! The broker is killed during a move, and started again: the end is the same.

use e2e::{Object, Scene, World, traveller::settled_at};
use serde_json::json;

use crate::{PEACE, WORLD, cast, controllers, prefix, served};

async fn restart(world: &World) {
    let mut guard = world.broker().await;
    let broker = guard.as_mut().unwrap();
    broker.kill();
    broker.start_again(&world.lab).await;
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
