//! A consumer that does not let the broker write that an object moves, or whereto, keeps no turn from anybody.

use broker_api::{ClusterName, condition, keys};
use broker_core::{
    decision::{Decision, State},
    memory::Subject,
    movement::Request,
};
use serde_json::json;

use crate::decide::{
    moves::{begin, corp, next, rename},
    world::{World, web},
};

/// The consumer refuses the marks that come next. Returns what is decided then.
fn refuse(world: &mut World) -> Decision {
    let decision = world.look(&web());
    let write = decision.writes().find(|write| write.subject == Subject::Marks).unwrap().clone();
    let now = world.millis;
    let memory = world.memories.get_mut(&web()).unwrap();
    memory.writes.refused(write.subject, write.intent, condition::INVALID, "not so".into(), now, 0);
    let decision = world.look(&web());
    assert!(decision.writes().all(|write| write.subject != Subject::Marks));
    decision
}

/// `web` may go to p2, or else to p3, and is on its way to the first.
fn leaving() -> World {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.look(&web());
    world
}

#[test]
fn a_move_that_cannot_be_begun_takes_no_turn_and_is_tried_again() {
    let mut world = corp();
    rename(&mut world, "a.com");
    let decision = refuse(&mut world);
    assert_eq!((decision.state, decision.rests, &decision.moving), (State::NotAccepted, true, &None));
    assert!(!decision.begins && decision.route.is_none() && decision.restless);
    world.settle_briefly(&web());
    let told = world.condition(&web(), condition::MOVING).unwrap();
    assert_eq!(told, "False/Invalid: waiting for the broker's annotations, which cannot be written: not so");
    world.millis += 2000;
    assert!(world.pass(&web()).moving.is_some());
    assert_eq!(next(&world), "p2");
}

#[test]
fn whoever_asks_for_a_move_that_cannot_be_begun_is_told() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    let [(name, Request::Waits(why))] = &*refuse(&mut world).requests else { panic!("nobody is told") };
    assert_eq!(name, "team/mine");
    assert_eq!(why, "for the broker's annotations, which cannot be written: not so");
}

/// Two writes that are refused, or undone, in turn would each make the other forgotten, and neither would ever wait.
#[test]
fn marks_that_are_missing_are_written_with_those_of_a_move_and_wait_with_them() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([]));
    assert!(refuse(&mut world).rests);
    world.millis += 2000;
    world.pass(&web());
    assert_eq!(next(&world), "p2");
    assert!(!world.origin(&web()).unwrap()["metadata"]["finalizers"].as_array().unwrap().is_empty());

    let mut world = leaving();
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([]));
    world.accept_no_more("p2");
    refuse(&mut world);
    world.millis += 600_000;
    assert!(refuse(&mut world).rests);
}

#[test]
fn a_webhook_that_drops_where_it_goes_slows_the_broker_down() {
    let mut world = corp();
    rename(&mut world, "a.com");
    let mut written = 0;
    for _ in 0..20 {
        let decision = world.pass(&web());
        written += decision.writes().filter(|write| write.subject == Subject::Marks).count();
        world.edit(&web(), |origin| {
            drop(origin["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::NEW_PROVIDER_CLUSTER));
        });
    }
    assert_eq!(written, 4);
    let decision = world.look(&web());
    assert!(decision.rests && decision.moving.is_none() && decision.again.is_some());
    assert!(world.condition(&web(), condition::MOVING).unwrap().starts_with("False/Fighting: waiting for"));
}

#[test]
fn a_move_that_cannot_be_sent_on_is_that_of_before_and_rests_once_it_is_late() {
    for lost in [true, false] {
        let mut world = leaving();
        let epoch = world.look(&web()).moving.unwrap().epoch;
        if lost {
            world.accept_no_more("p2");
        }
        // Else p2 has had its time.
        world.millis += if lost { 2000 } else { 600_000 };
        let decision = refuse(&mut world);
        assert_eq!(decision.moving.as_ref().map(|moving| moving.epoch), Some(epoch));
        assert!(!decision.begins && decision.gave_up.is_none());
        assert_eq!(decision.rests, !lost);
        world.millis += 600_000;
        // Tried again, and refused again.
        assert!(refuse(&mut world).rests);
        world.millis += 600_000;
        world.pass(&web());
        assert_eq!(next(&world), "p3");
    }
}

#[test]
fn a_move_whose_end_cannot_be_written_rests_once_it_is_late() {
    // Back to where it was, and there.
    for back in [true, false] {
        let mut world = leaving();
        if back {
            rename(&mut world, "a.corp");
        } else {
            world.serve("p2", &web());
            while world.copy("p1", &web()).is_some() {
                world.pass(&web());
            }
        }
        assert!(!refuse(&mut world).rests);
        world.millis += 600_000;
        assert!(refuse(&mut world).rests);
    }
}

#[test]
fn a_move_whose_marks_are_taken_off_rests_once_it_is_late() {
    let mut world = leaving();
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([]));
    assert!(!refuse(&mut world).rests);
    world.millis += 600_000;
    assert!(refuse(&mut world).rests);
}
