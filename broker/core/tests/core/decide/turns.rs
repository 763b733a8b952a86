//! Whose the move is where a person has asked for more than one.

use broker_api::MigrationState;
use broker_core::decision::Decision;
use serde_json::{Value, json};

use crate::decide::{
    moves::{begin, corp, next, rename},
    underway::{asked, marked_anew},
    world::{World, web},
};

/// The person's Migration that the move is made for.
fn made_for(world: &mut World) -> Option<String> {
    world.look(&web()).moving.unwrap().migration
}

#[test]
fn a_migration_that_ended_before_the_move_began_was_anothers() {
    // Its end is known to the second.
    for (before, its) in [(1000, None), (999, Some("team/mine".to_owned()))] {
        let mut world = asked();
        let epoch = world.look(&web()).moving.unwrap().epoch;
        world.moves.reach(MigrationState::CutoverCompleted, epoch - before);
        // Where nobody wants it to move it goes back.
        assert_eq!(world.look(&web()).moving.and_then(|moving| moving.migration), its, "{before}");
    }
}

#[test]
fn what_goes_elsewhere_or_comes_from_elsewhere_or_is_no_persons_is_not_the_migration_of_a_persons_move() {
    for (from, to, by_person) in [("p1", "p3", true), ("p3", "p2", true), ("p1", "p2", false)] {
        let mut world = asked();
        world.moves.ask(&web(), "other", from, to, world.millis);
        world.moves.reach(MigrationState::InitialInProgress, 0);
        world.moves.migrations[1].1.by_person = by_person;
        assert_eq!(made_for(&mut world).as_deref(), Some("team/mine"), "{from} {to}");
    }
}

#[test]
fn whoever_does_not_remember_takes_a_move_for_that_of_the_migration_that_is_open() {
    let mut world = asked();
    let now = world.millis;
    world.moves.reach(MigrationState::Failed, now);
    world.moves.ask(&web(), "open", "p1", "p2", now);
    world.restart();
    assert_eq!(made_for(&mut world).as_deref(), Some("team/open"));
}

#[test]
fn an_open_migration_of_this_very_move_alone_says_that_it_has_not_ended() {
    use MigrationState::{CutoverCompleted, Failed, Pending};
    for (from, to, state, open) in [
        ("p1", "p2", Pending, true),
        ("p1", "p3", Pending, false),
        ("p3", "p2", Pending, false),
        ("p1", "p2", Failed, false),
        ("p1", "p2", CutoverCompleted, false),
    ] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        world.serve("p2", &web());
        world.moves.ask(&web(), "other", from, to, world.millis);
        world.moves.reach(state, world.millis);
        let expected = if open { (json!("p1"), json!("p2"), true) } else { (json!("p2"), Value::Null, false) };
        assert_eq!(marked_anew(&mut world), expected, "{from} {to} {state:?}");
    }
}

#[test]
fn of_a_persons_migrations_the_one_that_has_begun_is_that_of_the_move_and_none_that_has_failed() {
    let mut world = asked();
    let now = world.millis;
    world.moves.ask(&web(), "failed", "p1", "p2", now);
    world.moves.reach(MigrationState::Failed, now + 5000);
    world.moves.migrations.reverse();
    let decision = world.pass(&web());
    assert_eq!((next(&world), decision.requests.len()), (json!("p2"), 0), "{:?}", decision.requests);

    let told_for = |decision: &Decision| decision.moving.clone().unwrap().migration;
    assert_eq!(told_for(&decision).as_deref(), Some("team/mine"));

    world.moves.ask(&web(), "begun", "p1", "p2", now);
    world.moves.reach(MigrationState::InitialInProgress, now);
    let decision = world.look(&web());
    assert_eq!(told_for(&decision).as_deref(), Some("team/begun"));
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
