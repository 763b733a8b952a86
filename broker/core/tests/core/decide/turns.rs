//! Whose the move is where a person has asked for more than one.

use broker_api::MigrationState;
use broker_core::decision::Decision;
use serde_json::json;

use crate::decide::{
    moves::{begin, next},
    underway::asked,
    world::web,
};

#[test]
fn of_a_persons_migrations_the_one_that_has_begun_is_that_of_the_move_and_none_that_has_failed() {
    let mut world = asked();
    let now = world.millis;
    world.moves.ask(&web(), "failed", "p1", "p2", now);
    world.moves.reach(MigrationState::Failed, now + 5000);
    world.moves.migrations.reverse();
    let decision = world.pass(&web());
    assert_eq!((next(&world), decision.requests.len()), (json!("p2"), 0), "{:?}", decision.requests);

    let made_for = |decision: &Decision| decision.moving.clone().unwrap().migration;
    assert_eq!(made_for(&decision).as_deref(), Some("team/mine"));

    world.moves.ask(&web(), "begun", "p1", "p2", now);
    world.moves.reach(MigrationState::InitialInProgress, now);
    let decision = world.look(&web());
    assert_eq!(made_for(&decision).as_deref(), Some("team/begun"));
    let waits: Vec<&str> = decision.requests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(waits, ["team/mine"]);
}

#[test]
fn the_next_of_a_persons_migrations_neither_takes_over_a_move_nor_inherits_one_that_has_failed() {
    let mut world = asked();
    let now = world.millis;
    // Asked for in the same second, and first by name.
    world.moves.ask(&web(), "also", "p1", "p2", now);
    world.moves.migrations.reverse();
    let decision = world.pass(&web());
    assert_eq!(decision.requests.len(), 1, "{:?}", decision.requests);
    let first = decision.moving.unwrap();
    assert_eq!(first.migration.as_deref(), Some("team/mine"));

    let mine = world.moves.migrations.iter_mut().find(|(_, migration)| migration.name == "mine").unwrap();
    (mine.1.state, mine.1.ended) = (MigrationState::Failed, Some(now + 5000));
    let undone = world.pass(&web());
    assert!(undone.moving.is_none() && next(&world).is_null(), "{undone:?}");
    begin(&mut world);
    let second = world.look(&web()).moving.unwrap();
    assert!(second.to == first.to && second.epoch > first.epoch, "a move of its own: {second:?}");
    assert_eq!(second.migration.as_deref(), Some("team/also"));
}
