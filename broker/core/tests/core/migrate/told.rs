//! What is told of a Migration: once, with the right time, and no longer than it is so; and what it is told by.

use broker_api::{
    MigrationState::{CutoverCompleted, Failed, Pending},
    condition,
    migration::{StageState, millis_of},
};
use broker_core::{
    memory::Subject,
    movement::{Movement, Moving, Phase},
};
use serde_json::json;

use crate::migrate::world::{Applied, START, TTL, World, job, job_stage, secret, underway, with};

fn over() -> Movement {
    Movement::Over("Ended", "it has ended".into())
}

/// The compute cluster does not serve what the first stage makes.
fn stalled() -> World {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.kinds.remove(&job());
    world.settle();
    assert_eq!(world.reason("Stalled"), condition::KIND_MISSING);
    world
}

fn notes(world: &World, reason: &str) -> usize {
    world.notes.iter().filter(|note| note.reason == reason).count()
}

/// When a condition turned.
fn turned(world: &World, kind: &str) -> u64 {
    let conditions = world.status().conditions;
    millis_of(&conditions.iter().find(|condition| condition.type_ == kind).unwrap().last_transition_time)
}

#[test]
fn what_stalls_it_is_told_once_and_another_reason_anew() {
    let mut world = stalled();
    for _ in 0..3 {
        world.pass();
    }
    // Whatever else is written meanwhile.
    world.edit("retry", json!(1));
    world.settle();
    assert_eq!(notes(&world, condition::KIND_MISSING), 1);
    let message = world.status().stages[0].message.clone();
    assert!(message.is_some_and(|message| message.contains("does not serve Job")));
    world.kinds.insert(job(), false);
    world.settle();
    assert_eq!((notes(&world, condition::KIND_MISSING), notes(&world, condition::INVALID)), (1, 1));
    // It goes on by itself, and nothing of that is left.
    world.kinds.insert(job(), true);
    world.settle();
    assert_eq!((world.condition("Stalled"), world.status().stages[0].message.clone()), (None, None));
}

#[test]
fn the_same_reason_for_something_else_is_told_anew() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"templates": {"b": map}}))]));
    let lacking = world.kinds.clone();
    world.kinds.clear();
    world.settle();
    assert_eq!(notes(&world, condition::KIND_MISSING), 1);
    world.kinds.insert(job(), lacking[&job()]);
    world.settle();
    assert!(world.message("Stalled").contains("does not serve ConfigMap"), "{}", world.message("Stalled"));
    assert_eq!(notes(&world, condition::KIND_MISSING), 2);
}

#[test]
fn until_its_first_status_is_written_nothing_is_said_of_the_copy() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    while world.state() != Pending {
        world.pass();
    }
    assert_eq!(
        (world.reason("Progressing").as_str(), world.message("Progressing").as_str()),
        ("Pending", "it has not begun")
    );
}

#[test]
fn a_stage_that_runs_when_all_ends_has_failed_and_is_counted() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    world.edit("abort", json!(true));
    world.now += 3000;
    let decided = world.pass();
    assert_eq!(decided.ended_stages, [("a".to_owned(), 3000, false)]);
    let entry = world.status().stages[0].clone();
    assert_eq!((entry.state, entry.finished.as_ref().map(millis_of)), (StageState::Failed, Some(world.now)));
    assert!(entry.message.unwrap().starts_with("spec.abort is set"));
}

#[test]
fn an_abort_that_comes_too_late_tells_nothing_again() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"progress": true})), job_stage("b", "b")]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
    world.kinds.remove(&job());
    world.movement = underway(Phase::Switched);
    world.edit("abort", json!(true));
    world.settle();
    world.edit("retry", json!(1));
    world.settle();
    assert_eq!(notes(&world, condition::KIND_MISSING), 1);
    assert!(world.message("Progressing").contains("spec.abort has no effect"));
    // Whoever deletes it skips the rest, and nothing is wrong with it then.
    world.delete();
    world.settle();
    assert_eq!((world.state(), world.condition("Stalled")), (CutoverCompleted, None));
    assert_eq!(world.reason("Succeeded"), "Completed");
}

#[test]
fn only_the_end_is_dated_by_the_move() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    // The move began by a clock that was ahead.
    world.now = START - 3_600_000;
    world.settle();
    assert_eq!(turned(&world, "Progressing"), world.now);
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!((turned(&world, "Progressing"), turned(&world, "Succeeded")), (world.now, START));
}

#[test]
fn a_status_that_is_refused_is_written_again_later_and_its_times_make_it_no_other() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.pass();
    let wanted = |world: &World| {
        let decided = world.decide();
        let write = decided.writes.iter().find(|write| write.subject == Subject::Status);
        (write.map(|write| write.intent), decided.again)
    };
    let (intent, _) = wanted(&world);
    world.now += 5000;
    assert_eq!(wanted(&world).0, intent);
    world.memory.refused(Subject::Status, intent.unwrap(), "Forbidden", String::new(), world.now, 0);
    let (held_back, again) = wanted(&world);
    assert!(held_back.is_none() && again.is_some());
    assert!(world.decide().notes.is_empty(), "nothing has happened yet");
    world.now += 5000;
    assert_eq!(wanted(&world).0, intent);
}

#[test]
fn what_it_waits_for_is_named_where_it_is_known() {
    let said = |waits_for: &str| {
        let mut world = World::new(json!([job_stage("a", "a")]));
        let Movement::Underway(moving) = underway(Phase::Copying) else { panic!("it is under way") };
        world.movement = Movement::Underway(Moving { waits_for: waits_for.into(), ..moving });
        world.settle();
        world.message("Progressing")
    };
    assert_eq!(said(""), "the new copy is being made");
    assert_eq!(said("room"), "room");
    // As much of it as people read.
    let long = said(&format!("x{}", "ü".repeat(2000)));
    assert_eq!((long.len(), long.ends_with('…')), (2047 + '…'.len_utf8(), true));
    assert_eq!(said(&"x".repeat(2048)), "x".repeat(2048));
}

#[test]
fn what_may_have_been_made_is_watched_until_it_is_released() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    let watched = world.settle().watches;
    assert!(watched.contains(&job()) && watched.contains(&secret()), "its stages, and what is brought for them");
    world.edit("abort", json!(true));
    assert!(!world.settle().watches.is_empty(), "the move has not ended yet");
    world.movement = over();
    assert!(!world.settle().watches.is_empty(), "a process that died may have sent something");
    world.now += 10 * 60_000;
    assert!(world.settle().watches.is_empty());
    let mut nothing = World::new(json!([]));
    assert!(nothing.settle().watches.is_empty());
}

#[test]
fn a_time_to_live_begins_with_the_end() {
    let mut world = stalled();
    world.now += 3_600_000;
    world.edit("abort", json!(true));
    world.settle();
    assert!(turned(&world, "Progressing") < turned(&world, "Succeeded"), "it did not go on before");
    world.movement = over();
    world.now += TTL - 1;
    world.settle();
    assert!(world.migration().is_some());
    world.now += 1;
    world.memory = broker_core::memory::Memory::default();
    world.settle();
    assert!(world.migration().is_none());
}

#[test]
fn while_nothing_is_known_of_the_move_only_a_success_is_kept_for_it() {
    let kept = |success: bool, origin: bool| {
        let mut world = World::with(Applied::None);
        world.settle();
        if success {
            world.movement = underway(Phase::Switched);
        } else {
            world.movement = Movement::Refused("No", "why".into());
        }
        world.settle();
        assert_eq!(world.state(), if success { CutoverCompleted } else { Failed });
        if !origin {
            world.origin = None;
        }
        world.movement = Movement::Unknown;
        world.delete();
        world.settle();
        world.migration().is_some()
    };
    assert!(kept(true, true));
    assert!(!kept(true, false) && !kept(false, true));
}

#[test]
fn an_obstacle_is_told_while_there_is_time_and_then_that_there_was_none() {
    let held = json!({"timeoutSeconds": 60, "onFailure": "Hold"});
    let mut world = World::new(json!([with(job_stage("a", "a"), held)]));
    world.kinds.remove(&job());
    world.settle();
    assert_eq!(world.reason("Stalled"), condition::KIND_MISSING);
    world.now += 60_000;
    world.settle();
    assert_eq!(world.reason("Stalled"), "TimedOut");
    assert!(world.message("Stalled").contains("does not serve Job"), "{}", world.message("Stalled"));
}

#[test]
fn what_has_not_been_written_has_not_happened() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    world.edit("abort", json!(true));
    let decided = world.decide();
    let write = decided.writes.iter().find(|write| write.subject == Subject::Status).unwrap();
    assert!(decided.failed.is_some());
    world.memory.refused(Subject::Status, write.intent, "Forbidden", String::new(), world.now, 0);
    let decided = world.decide();
    assert_eq!((decided.failed, decided.ended_stages.len(), decided.notes.len()), (None, 0, 0));
}
