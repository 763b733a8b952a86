//! Moves that come to nothing: when they are tried again, by whom the object is taken meanwhile, and what does not count.

use std::time::Duration;

use broker_api::{ClusterName, MigrationState};
use serde_json::{Value, json};

use crate::decide::{
    moves::{corp, next, rename},
    world::{World, web},
};

/// `web`, which p2 alone accepts by now.
fn unwanted() -> World {
    let mut world = corp();
    rename(&mut world, "a.com");
    world
}

/// A Migration of the broker's has failed just now.
fn fail(world: &mut World, to: &str) {
    let name = format!("certificate-{}", world.moves.migrations.len());
    world.moves.ask(&web(), &name, "p1", to, world.millis);
    world.moves.reach(MigrationState::Failed, world.millis);
    world.moves.migrations.last_mut().unwrap().1.by_person = false;
}

#[test]
fn each_failure_doubles_the_wait_for_the_next_try_up_to_an_hour() {
    for (failures, minutes) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (20, 60)] {
        let mut world = unwanted();
        (0..failures).for_each(|_| fail(&mut world, "p2"));
        assert_eq!(world.look(&web()).again, Some(Duration::from_mins(minutes)), "{failures}");
        world.settle_briefly(&web());
        let told = world.condition(&web(), "Accepted").unwrap();
        assert!(told.contains(&format!("failed; it is tried again {} s after", minutes * 60)), "{told}");
    }
}

#[test]
fn the_next_try_begins_when_the_wait_is_over() {
    let mut world = unwanted();
    fail(&mut world, "p2");
    world.millis += 59_999;
    assert_eq!((world.pass(&web()).begins, next(&world)), (false, Value::Null));
    assert_eq!((world.pass(&web()).begins, next(&world)), (true, json!("p2")));
}

#[test]
fn what_a_person_asked_for_what_is_deleted_what_went_elsewhere_and_what_goes_on_hold_up_no_try() {
    type Change = fn(&mut World);
    let changes: [Change; 4] = [
        |world| world.moves.migrations[0].1.by_person = true,
        |world| world.moves.migrations[0].1.deleting = true,
        |world| world.moves.migrations[0].1.to = ClusterName::provider("p3"),
        |world| world.moves.migrations[0].1.state = MigrationState::CutoverCompleted,
    ];
    for (which, change) in changes.into_iter().enumerate() {
        let mut world = unwanted();
        fail(&mut world, "p2");
        change(&mut world);
        world.pass(&web());
        assert_eq!(next(&world), "p2", "{which}");
    }
}

#[test]
fn whoever_was_not_ready_in_time_is_last_in_line_the_latest_last_of_all() {
    let mut world = unwanted();
    for (provider, priority) in [("p2", 3), ("p3", 2), ("p4", 1)] {
        if provider != "p2" {
            world.engage(ClusterName::provider(provider));
        }
        world.accept(provider, &json!({"priority": priority}));
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        world.settle_briefly(&web());
        order.push(next(&world).as_str().unwrap().to_owned());
        if order.len() == 3 {
            world.accept("p3", &json!({"priority": 9}));
        }
        world.millis += 600_000;
    }
    assert_eq!(order, ["p2", "p3", "p4", "p2"]);
}

#[test]
fn why_it_moves_is_told() {
    let told = |change: fn(&mut World)| {
        let mut world = corp();
        world.accept("p2", &json!({"priority": 9}));
        change(&mut world);
        let decision = world.look(&web());
        decision.writes().flat_map(|write| &write.notes).map(|note| note.message.clone()).collect::<Vec<_>>().concat()
    };
    let why = |why: &str| format!("moves from provider p1 to provider p2: {why}");
    assert_eq!(told(|world| rename(world, "a.com")), why("provider p1 does not accept it any more"));
    let drained = |world: &mut World| {
        world.accept("p1", &json!({"cordoned": true}));
        world.annotate("p1/all", true, false);
    };
    assert_eq!(told(drained), why("provider p1 is being drained"));
    let asked = |world: &mut World| world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    assert_eq!(told(asked), why("Migration team/mine asks for it"));
    assert_eq!(told(|world| world.annotate("p2/all", false, true)), why("AcceptAPI p2/default/all asks for its share"));
}
