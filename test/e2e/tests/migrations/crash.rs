//! The broker is killed in each state of a Migration, and goes on where it was.

use std::time::Duration;

use e2e::{Tally, World, kind::CONFIG_MAP, until_quiet};
use serde_json::{Value, json};

use crate::{
    ARIADNE, HOMER, THESEUS, WORLD, state,
    trip::{PEACE, Trip, alone, stage},
};

/// A restarted broker has written what it has to write when it has asked for nothing for so long.
const SETTLED: Duration = Duration::from_millis(2500);

/// Kills the broker, lets somebody act, and starts it again.
async fn without_broker(world: &World, act: impl AsyncFnOnce()) {
    let mut guard = world.broker().await;
    let broker = guard.as_mut().unwrap();
    broker.kill();
    act().await;
    broker.start_again(&world.lab).await;
}

#[test]
fn killed_in_each_state_it_goes_on_where_it_was() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let stages = json!([stage("copy", json!({"progress": true})), stage("check", Value::Null)]);
        alone(world, "mig-killed", stages, async |trip: &mut Trip<'_>| {
            trip.nobody_brings_up();
            trip.leave().await;
            trip.item.copy(trip.theseus).await;
            // It becomes ready while nobody looks.
            without_broker(world, async || {
                trip.theseus_brings_up();
                let ready = |seen: &e2e::Object| seen.text("/status/status") == "Available";
                trip.item.copy_until(trip.theseus, "to be ready", ready).await;
            })
            .await;
            let migration = trip.migration("InitialInProgress").await;
            let map = trip.object(&migration, &CONFIG_MAP, "copy").await;
            // A stage object is deleted while nobody looks.
            without_broker(world, async || trip.hub.delete(&CONFIG_MAP, trip.scene.ns(), map.name()).await).await;
            let again = |seen: &e2e::Object| seen.uid() != map.uid();
            trip.hub.until(&CONFIG_MAP, trip.scene.ns(), map.name(), "to be made again", again).await;
            // The stage succeeds while nobody looks.
            without_broker(world, async || drop(trip.say(&migration, "copy", "done").await)).await;
            trip.until(&migration, "the cutover", state("CutoverInProgress")).await;
            without_broker(world, async || {}).await;
            trip.say(&migration, "check", "done").await;
            trip.until(&migration, "to be completed", state("CutoverCompleted")).await;
            without_broker(world, async || {}).await;
            trip.until_arrived().await;
            trip.until_swept(&migration).await;
            let course = trip.states(&migration).await;
            let expected =
                ["", "Pending", "InitialInProgress", "InitialCompleted", "CutoverInProgress", "CutoverCompleted"];
            assert_eq!(course, expected);

            // After it is over, a restart writes nothing.
            for provider in [trip.ariadne, trip.theseus] {
                provider.keep_namespaces().await;
            }
            let places = [HOMER].map(|name| world.consumer(name)).into_iter();
            let places = places.chain([ARIADNE, THESEUS].map(|name| world.provider(name))).chain([&world.hub]);
            let places: Vec<&e2e::Place> = places.collect();
            until_quiet(&places, SETTLED).await;
            let tally = Tally::begin(places.iter().copied()).await;
            without_broker(world, async || {}).await;
            until_quiet(&places, SETTLED).await;
            let requests = tally.requests().await;
            assert_eq!(requests.writes().words(), Vec::<String>::new(), "{requests:?}");
            // What others complain of is told again, and is there already.
            assert_eq!(requests.events().carried_out().words(), Vec::<String>::new(), "{requests:?}");
        })
        .await;
    });
}
