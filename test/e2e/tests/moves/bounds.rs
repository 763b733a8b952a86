//! How many objects move at once.

use e2e::{Recording, Scene, kind::CERTIFICATE, traveller::NEW_PROVIDER};
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
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        let accept = scene.accept(ariadne, json!({"priority": 1})).await;
        let mut travellers = Vec::new();
        for name in names {
            travellers.push(served(&scene, homer, name, ariadne).await.0);
        }
        scene.accept(theseus, Value::Null).await;
        let origins = Recording::begin(homer, &CERTIFICATE, scene.ns()).await;
        reject(ariadne, &accept).await;
        for traveller in &travellers {
            traveller.until_served_by(theseus).await;
            traveller.until_copy_gone(ariadne).await;
        }
        let mut moving: Vec<String> = Vec::new();
        let (mut most, mut waited) = (0, false);
        for change in origins.changes().await {
            waited |= change.object.has("Moving", "False", "WaitingForTurn");
            let name = change.object.name().to_owned();
            moving.retain(|other| *other != name);
            if change.object.annotation(NEW_PROVIDER).is_some() {
                moving.push(name);
            }
            most = most.max(moving.len());
        }
        assert_eq!(most, 2, "never more than --max-moves");
        assert!(waited, "the others said that they wait for their turn");
    });
}
