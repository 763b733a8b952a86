//! How many objects move at once.

use e2e::{Object, Recording, Scene, kind::CERTIFICATE, traveller::NEW_PROVIDER};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, controllers, reject, served};

#[test]
fn only_so_many_move_at_once() {
    WORLD.run(async |world| {
        // Moves of others count.
        let _alone = PEACE.write().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-bound", &[homer]).await;
        let names = ["one", "two", "three", "four", "five", "six"];
        let brought_up = controllers(&scene, &[ariadne]);
        let accept = scene.accept(ariadne, json!({"priority": 1})).await;
        let mut travellers = Vec::new();
        for name in names {
            travellers.push(served(&scene, homer, name, ariadne).await.0);
        }
        drop(brought_up);
        scene.accept(theseus, Value::Null).await;
        let origins = Recording::begin(homer, &CERTIFICATE, scene.ns()).await;
        reject(ariadne, &accept).await;
        let waits = |seen: &Object| seen.has("Moving", "False", "WaitingForTurn");
        let counted = harness::wait_for(e2e::DEADLINE, "two to move and four to wait", async || {
            let all = homer.list(&CERTIFICATE, scene.ns()).await;
            let moving = all.iter().filter(|seen| seen.annotation(NEW_PROVIDER).is_some()).count();
            let waiting = all.iter().filter(|seen| waits(seen)).count();
            let copies = theseus.list(&CERTIFICATE, scene.ns()).await.len();
            if (moving, waiting, copies) == (2, 4, 2) {
                return Ok(());
            }
            Err(format!("{moving} move, {waiting} wait, {copies} copies: {all:?}"))
        });
        counted.await.unwrap();

        let _controllers = controllers(&scene, &[theseus]);
        for traveller in &travellers {
            traveller.until_served_by(theseus).await;
            traveller.until_copy_gone(ariadne).await;
        }
        let mut moving: Vec<String> = Vec::new();
        let mut most = 0;
        for change in origins.changes().await {
            let name = change.object.name().to_owned();
            moving.retain(|other| *other != name);
            if change.object.annotation(NEW_PROVIDER).is_some() {
                moving.push(name);
            }
            most = most.max(moving.len());
        }
        assert_eq!(most, 2, "never more than --max-moves");
    });
}
