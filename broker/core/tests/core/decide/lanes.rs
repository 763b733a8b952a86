//! What a move counts for: a provider that is left has a route with the one that takes over; who asks for its share has one
//! for itself.

use broker_api::ClusterName;
use broker_core::movement::Route;
use serde_json::{Value, json};

use crate::decide::{
    moves::{begin, corp, next, ready, rename},
    world::{World, web},
};

fn leave() -> Route {
    Route::Leave { from: ClusterName::provider("p1"), to: ClusterName::provider("p2") }
}

/// The route of a move from p1 to p2 that is under way, its copy made and not ready.
fn route(mut world: World) -> Route {
    begin(&mut world);
    assert_eq!(next(&world), "p2");
    assert!(world.copy("p2", &web()).is_some());
    let decision = world.look(&web());
    assert!(decision.moving.is_some());
    decision.route.unwrap()
}

#[test]
fn one_that_is_not_accepted_any_more_leaves() {
    let mut world = corp();
    rename(&mut world, "a.com");
    assert_eq!(route(world), leave());
}

#[test]
fn one_whose_provider_is_drained_leaves() {
    let mut world = corp();
    world.accept("p1", &json!({"cordoned": true}));
    world.annotate("p1/all", true, false);
    world.accept("p2", &json!({}));
    assert_eq!(route(world), leave());
}

#[test]
fn one_that_a_person_moves_leaves() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    assert_eq!(route(world), leave());
}

#[test]
fn one_that_somebody_asks_for_is_rebalanced() {
    let mut world = corp();
    world.accept("p2", &json!({"priority": 9}));
    world.annotate("p2/all", false, true);
    assert_eq!(route(world), Route::Rebalance { to: ClusterName::provider("p2") });
}

#[test]
fn nothing_that_stays_counts_for_a_lane() {
    let mut world = corp();
    let decision = world.look(&web());
    assert_eq!((decision.route, next(&world)), (None, Value::Null));
}

#[test]
fn one_that_has_arrived_counts_for_none() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    let arrives = (0..10).map(|_| (world.pass(&web()), next(&world))).find(|(_, next)| next.is_null());
    let (decision, _) = arrives.unwrap();
    assert_eq!((decision.route, decision.moving), (None, None));
}
