//! What an API server refuses is told once where people look, and tried again later.

use broker_api::{MigrationState, condition, keys};
use broker_core::{
    decision::{Decision, State},
    memory::Subject,
};
use runtime_effect::write::Op;
use serde_json::{Value, json};

use crate::decide::{
    migrated::migrating,
    world::{World, web},
};

/// The write about this subject that the next pass wants is refused.
fn refuse(world: &mut World, subject: Subject) -> Vec<String> {
    let decision = world.look(&web());
    let write = decision.writes().find(|write| write.subject == subject).unwrap().clone();
    let now = world.millis;
    let memory = world.memories.get_mut(&web()).unwrap();
    memory.writes.refused(subject, write.intent, condition::INVALID, "not so".into(), now, 0);
    let decision = world.look(&web());
    assert!(decision.again.is_some() && !decision.writes().any(|write| write.subject == subject));
    decision.notes.iter().filter(|note| note.message == "not so").map(|note| note.reason.to_string()).collect()
}

#[test]
fn marks_and_status_that_are_refused_are_told() {
    let mut world = World::with_origin();
    assert_eq!(refuse(&mut world, Subject::Marks), [condition::INVALID]);
    let mut world = World::served();
    world.provider_status("p1", &web(), json!({"phase": "News"}));
    assert_eq!(refuse(&mut world, Subject::Status), [condition::INVALID]);
}

/// A consumer that lets nobody write them once froze what was served.
#[test]
fn an_object_whose_marks_are_refused_is_served_as_before_and_gets_no_new_copy() {
    let mut world = World::served();
    world.edit(&web(), |origin| {
        origin["metadata"]["finalizers"] = json!([]);
        origin["spec"]["fqdn"] = json!("b.corp");
    });
    world.provider_status("p1", &web(), json!({"phase": "News"}));
    assert_eq!(refuse(&mut world, Subject::Marks), [condition::INVALID]);
    world.pass(&web());
    world.pass(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "b.corp");
    assert_eq!(world.origin(&web()).unwrap()["status"]["phase"], "News");
    world.provider("p1").delete(&World::copy_at(&web()));
    let decision = world.pass(&web());
    assert_eq!((decision.state, decision.writes().count()), (State::Placing, 0));
}

#[test]
fn a_copy_that_is_refused_is_told_once_and_in_the_condition() {
    for made in [false, true] {
        let mut world = if made { World::served() } else { World::with_origin() };
        if made {
            world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
        } else {
            world.pass(&web());
        }
        assert_eq!(refuse(&mut world, Subject::Copy), [condition::INVALID], "made: {made}");
        world.pass(&web());
        assert_eq!(world.condition(&web(), "Brokered").unwrap(), "False/Invalid: not so");
    }
}

#[test]
fn more_conditions_than_are_shown_are_told() {
    let mut world = World::served();
    let all: Vec<Value> = (0..200)
        .map(|index| json!({"type": format!("C{index}"), "status": "True", "reason": "R", "message": "", "lastTransitionTime": "t"}))
        .collect();
    world.provider_status("p1", &web(), json!({"phase": "Up", "conditions": all}));
    let decision = world.settle(&web());
    assert!(decision.notes.iter().any(|note| note.reason == condition::STATUS_TRUNCATED), "{:?}", decision.notes);
}

/// The deletion of a copy that comes next is refused; what is decided then, and what once it may be tried again.
fn refuse_removal(world: &mut World) -> [Decision; 2] {
    let removal = |decision: &Decision| {
        let removals = decision.writes().filter(|write| write.subject == Subject::Removal);
        removals.map(|write| write.intent).next()
    };
    while removal(&world.look(&web())).is_none() {
        assert!(!world.pass(&web()).steps.is_empty(), "nothing is to go");
    }
    let intent = removal(&world.look(&web())).unwrap();
    let now = world.millis;
    let memory = world.memories.entry(web()).or_default();
    // For the fourth time: it waits for a while.
    for _ in 0..4 {
        memory.writes.refused(Subject::Removal, intent, condition::FORBIDDEN, "not so".into(), now, 0);
    }
    let waits = world.look(&web());
    assert!(removal(&waits).is_none() && waits.again.is_some(), "{waits:?}");
    world.millis += 120_000;
    let again = world.look(&web());
    assert_eq!(removal(&again), Some(intent), "{again:?}");
    world.millis = now;
    [waits, again]
}

#[test]
fn a_copy_that_may_not_be_deleted_is_tried_again_later_and_remembered() {
    let mut world = World::served();
    world.delete(&web());
    let [waits, _] = refuse_removal(&mut world);
    assert_eq!(waits.state, State::Deleting);
    assert!(waits.steps.is_empty(), "the finalizer stays");
    world.pass(&web());
    world.millis += 6_000;
    let told = |world: &mut World| {
        world.pass(&web());
        world.condition(&web(), "Brokered").unwrap()
    };
    let said = told(&mut world);
    assert!(said.starts_with("False/HeldByProvider") && said.contains("be deleted: not so"), "{said}");
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true"));
    world.pass(&web());
    assert!(world.origin(&web()).is_none(), "a person lets go of it");

    // Confirmed to be gone, so that its copy may go.
    let mut world = World::served();
    world.force_remove(&web());
    let [waits, _] = refuse_removal(&mut world);
    assert!(!waits.forgets() && waits.provider.is_some(), "{waits:?}");
}

#[test]
fn what_comes_behind_a_copy_that_may_not_be_deleted_is_done() {
    let mut world = migrating(MigrationState::CutoverInProgress);
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    let [waits, _] = refuse_removal(&mut world);
    let told = waits.moving.unwrap().waits_for;
    assert_eq!(told, "the old copy at provider p1 to go: not so");
    world.provider_status("p2", &web(), json!({"phase": "Changed"}));
    assert!(world.look(&web()).writes().any(|write| matches!(write.op, Op::MergeStatus(_))), "its status comes");
}
