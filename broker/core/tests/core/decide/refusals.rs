//! What an API server refuses is told once where people look, and tried again later.

use broker_api::condition;
use broker_core::memory::Subject;
use serde_json::{Value, json};

use crate::decide::world::{World, web};

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
