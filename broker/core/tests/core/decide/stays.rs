//! What is looked at, told and served while an object stays where it is, although it should be elsewhere.

use std::time::Duration;

use broker_api::ClusterName;
use broker_core::{decision::State, memory::Subject, movement::Configured};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use crate::decide::{
    moves::{assigned, begin, corp, next, phase, ready, rename},
    underway::asked,
    world::{World, web},
};

#[test]
fn until_configurations_are_known_what_it_has_is_served() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.moves.configured = Configured::Unknown;
    world.provider_status("p1", &web(), ready("news"));
    let decision = world.pass(&web());
    assert_eq!((decision.state, decision.again.unwrap().as_millis()), (State::NotAccepted, 500));
    assert_eq!((phase(&world), next(&world)), (json!("news"), Value::Null));
}

#[test]
fn a_copy_that_is_not_known_is_looked_for_again() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.provider("p1").listed = false;
    let decision = world.pass(&web());
    assert_eq!((decision.steps.len(), decision.again.unwrap().as_secs()), (0, 2));
}

#[test]
fn whoever_is_silent_for_too_long_is_left_by_one_write_or_told_where_nobody_else_takes_it() {
    for taken in [true, false] {
        let mut world = corp();
        world.accept("p1", &json!({"unreachableAfterSeconds": 30}));
        if taken {
            world.accept("p2", &json!({}));
        }
        world.provider("p1").reach = Reach::Unreachable("down".into());
        world.provider("p1").silent_since = Some(world.millis - 30_000);
        let decision = world.pass(&web());
        assert_eq!(decision.steps.len(), 1);
        assert_eq!(assigned(&world), if taken { "p2" } else { "p1" });
        assert_eq!(decision.state, if taken { State::Placing } else { State::Blocked });
    }
}

#[test]
fn while_it_is_not_known_who_else_takes_it_the_consumer_sees_the_old_copy() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.millis += 2000;
    world.accept_no_more("p2");
    world.engage(ClusterName::provider("p3"));
    world.provider("p3").reach = Reach::Settling;
    world.provider_status("p1", &web(), ready("news"));
    let decision = world.pass(&web());
    assert_eq!((next(&world), phase(&world)), (json!("p2"), json!("news")));
    assert!(decision.again.is_some());
}

/// `p3` may be known to be better, or to be somebody at all, in a moment, and nobody tells that of `web`.
#[test]
fn whoever_may_be_chosen_in_a_moment_is_waited_for() {
    let settling = |world: &mut World| {
        world.engage(ClusterName::provider("p3"));
        world.provider("p3").reach = Reach::Settling;
    };
    let (later, soon) = (Some(Duration::from_secs(2)), Some(Duration::from_millis(200)));
    let mut attracted = corp();
    attracted.annotate("p2/all", false, true);
    settling(&mut attracted);
    assert_eq!((attracted.look(&web()).again, next(&attracted)), (later, Value::Null), "it is well where it is");
    let mut late = corp();
    rename(&mut late, "a.com");
    begin(&mut late);
    late.millis += 601_000;
    settling(&mut late);
    assert_eq!((late.look(&web()).again, next(&late)), (soon, json!("p2")));
}

/// An expression that rests is asked again, and nobody tells when.
#[test]
fn whoever_takes_over_and_cannot_say_whether_it_accepts_is_asked_again() {
    let mut world = corp();
    world.accept("p2", &json!({"expression": "self.spec.fqdn == 'a.com'"}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.millis += 5000;
    world.pass(&web());
    world.run_out_of_time();
    let decision = world.look(&web());
    assert_eq!((decision.again, next(&world)), (Some(Duration::from_mins(1)), json!("p2")));
}

#[test]
fn a_target_is_left_for_another_by_one_write_however_long_the_move_has_taken() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.millis += 2000;
    world.accept_no_more("p2");
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!(next(&world), "p3");
}

/// Nobody would be told again of what the broker has written itself.
#[test]
fn a_copy_that_is_made_beside_other_writes_is_not_all_there_is_to_do() {
    for late in [true, false] {
        let mut world = if late { corp() } else { asked() };
        if late {
            world.engage(ClusterName::provider("p3"));
            world.accept("p3", &json!({"priority": -1}));
            rename(&mut world, "a.com");
            begin(&mut world);
            world.look(&web());
            world.millis += 600_000;
        } else {
            rename(&mut world, "b.com");
        }
        world.provider("p2").delete(&World::copy_at(&web()));
        let decision = world.look(&web());
        let subjects: Vec<Subject> = decision.writes().map(|write| write.subject).collect();
        let beside = if late { Subject::Marks } else { Subject::Copy };
        assert!(subjects.contains(&Subject::Successor) && subjects.contains(&beside), "{subjects:?}");
        assert!(!decision.complete, "{subjects:?}");
    }
}

#[test]
fn a_persons_choice_that_is_late_is_waited_for_and_the_consumer_sees_the_old_copy() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    for provider in ["p1", "p2", "p3"] {
        world.accept(provider, &json!({}));
    }
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    begin(&mut world);
    world.look(&web());
    world.millis += 600_000;
    world.provider_status("p1", &web(), ready("news"));
    let decision = world.pass(&web());
    assert!(decision.rests && decision.gave_up.is_none());
    assert_eq!((next(&world), phase(&world)), (json!("p2"), json!("news")));
}

#[test]
fn that_nobody_has_a_copy_is_told_where_none_can_be_made() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.pass(&web());
    assert_eq!(next(&world), "p2");
    world.provider("p1").delete(&World::copy_at(&web()));
    let decision = world.look(&web());
    let write = decision.writes().find(|write| write.subject == Subject::Successor).unwrap();
    let now = world.millis;
    let memory = world.memories.entry(web()).or_default();
    memory.writes.refused(write.subject, write.intent, "Invalid", "not so".into(), now, 0);
    world.pass(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/NotAccepted: the copy at provider p1 is gone"), "{told}");
}

#[test]
fn one_that_asks_for_its_share_and_is_not_ready_in_time_gets_nothing() {
    let mut world = corp();
    world.accept("p2", &json!({"priority": 9}));
    world.annotate("p2/all", false, true);
    begin(&mut world);
    assert_eq!(next(&world), "p2");
    world.look(&web());
    world.millis += 600_000;
    let decision = world.pass(&web());
    assert!(decision.rests && decision.gave_up == Some(ClusterName::provider("p2")));
    assert_eq!(decision.steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
    // It is asked again after an hour, not before.
    world.settle_briefly(&web());
    let decision = world.look(&web());
    let wait = u64::try_from(decision.again.unwrap().as_millis()).unwrap();
    assert!((3_500_000..=3_600_000).contains(&wait), "{wait}");
    world.millis += wait - 1;
    assert_eq!((world.look(&web()).steps, next(&world)), (vec![], Value::Null));
    world.millis += 1;
    world.pass(&web());
    assert_eq!(next(&world), "p2");
}

/// World 13002338: it was made once more where it had been, beside the new copy.
#[test]
fn nobody_goes_back_to_a_copy_that_is_gone_because_the_new_one_is_late() {
    for (third, goes) in [(false, "p2"), (true, "p3")] {
        let mut world = corp();
        world.accept("p2", &json!({"priority": 9}));
        world.annotate("p2/all", false, true);
        begin(&mut world);
        assert_eq!(next(&world), "p2");
        if third {
            world.engage(ClusterName::provider("p3"));
            world.accept("p3", &json!({"priority": -1}));
        }
        world.provider("p1").delete(&World::copy_at(&web()));
        world.look(&web());
        world.millis += 600_000;
        world.pass(&web());
        assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!(goes)));
    }
}
