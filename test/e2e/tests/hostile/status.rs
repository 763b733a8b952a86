//! Statuses as long as an API server takes them: nobody else waits, and the tenant is shown what can be read.

use std::cell::Cell;

use e2e::{Neighbour, Object, Scene, Tally, kind::WIDGET, until_quiet};
use futures::future::join;
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, WORLD};

/// As many conditions as an object of 1.5 MiB holds.
const MANY: usize = 80_000;

/// What is shown of them, and the broker's own.
const SHOWN: usize = 128 + 3;

/// Conditions that differ from round to round, the broker's own among them.
fn conditions(round: usize) -> Value {
    let mut all: Vec<Value> = (0..MANY).map(|n| json!({"type": format!("{round}{n}")})).collect();
    all[MANY / 2] = json!({"type": "Brokered", "status": "True"});
    json!({ "conditions": all })
}

fn count(seen: &Object) -> usize {
    seen.0["status"]["conditions"].as_array().map_or(0, Vec::len)
}

#[test]
fn conditions_without_end_hold_nobody_up() {
    WORLD.run(async |world| {
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "endless", &[homer]).await;
        scene.accept_kind(&WIDGET, theseus, &[json!({"key": "for", "valueIn": ["endless"]})], Value::Null).await;
        let names = ["a", "b"];
        for name in names {
            homer.create(&WIDGET, scene.ns(), name, json!({"spec": {"for": "endless"}})).await;
            theseus.until_there(&WIDGET, scene.ns(), &homer.copy_name(name)).await;
        }
        let health = world.broker().await.as_ref().unwrap().health_address().to_owned();
        let calm = Neighbour::start("endless-calm", bart, ariadne, &health).await;
        let served = Cell::new(false);
        let attack = async {
            for round in (0..).take_while(|round| *round < 2 || !served.get()) {
                for name in names {
                    // The tenant's own list, then the provider's.
                    homer.set_status(&WIDGET, scene.ns(), name, conditions(round)).await;
                    theseus.set_status(&WIDGET, scene.ns(), &homer.copy_name(name), conditions(round)).await;
                }
            }
        };
        let calm_served = async {
            calm.until_served(10).await;
            served.set(true);
        };
        join(attack, calm_served).await;
        calm.end().await;

        for name in names {
            let cut = |seen: &Object| (1..=SHOWN).contains(&count(seen)) && seen.condition("Brokered").is_some();
            homer.until(&WIDGET, scene.ns(), name, "no more conditions than are shown", cut).await;
        }
        // The provider's list is still as long: that makes no work.
        until_quiet(&[homer, theseus], std::time::Duration::from_secs(2)).await;
        let tally = Tally::begin([homer, theseus]).await;
        theseus
            .edit(&WIDGET, scene.ns(), &homer.copy_name("a"), json!({"metadata": {"labels": {"theirs": "1"}}}))
            .await;
        until_quiet(&[homer, theseus], std::time::Duration::from_secs(2)).await;
        let writes = tally.requests().await.within(scene.ns()).writes();
        assert!(writes.0.is_empty(), "{writes}");
    });
}
