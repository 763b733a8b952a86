//! What is told at once, what a moment later, and what only when nobody else waits.

use std::time::Duration;

use broker_core::{decision::Decision, memory::Subject};
use runtime_effect::reach::Reach;

use crate::decide::{
    moves::{begin, corp, rename},
    world::{World, verb, web},
};

/// The first copy has just been made; its provider has not said anything yet, and the broker has this much else to do.
fn created(busy: bool) -> World {
    let mut world = World::with_origin();
    world.pass(&web());
    world.pass(&web());
    assert!(world.copy("p1", &web()).is_some() && world.memories[&web()].created_at.is_some());
    world.oddities.busy = busy;
    world
}

fn tells(decision: &Decision) -> bool {
    decision.writes().any(|write| verb(&write.op) == "status")
}

#[test]
fn good_news_waits_a_second_for_the_providers_word() {
    let mut world = created(false);
    let decision = world.look(&web());
    assert!(!tells(&decision) && !decision.when_idle);
    assert!(decision.again.is_some_and(|again| again <= Duration::from_secs(1)));
    world.millis = world.memories[&web()].created_at.unwrap() + 1000;
    assert!(tells(&world.look(&web())));
}

#[test]
fn good_news_waits_longer_while_others_wait_and_not_for_ever() {
    let mut world = created(true);
    world.millis += 2000;
    let decision = world.look(&web());
    assert_eq!((tells(&decision), decision.again, decision.when_idle), (false, None, true));
    world.oddities.busy = false;
    assert!(tells(&world.look(&web())));
    world.oddities.busy = true;
    world.millis = world.memories[&web()].created_at.unwrap() + 60_000;
    assert!(tells(&world.look(&web())), "a minute is enough");
    // A clock that was set back must not hold it back.
    world.millis -= 120_000;
    assert!(tells(&world.look(&web())));
}

#[test]
fn what_the_provider_says_itself_and_what_is_not_well_are_told_at_once() {
    // Conditions alone, as those are that could wait for it.
    let mut world = created(false);
    world.serve("p1", &web());
    assert!(tells(&world.look(&web())));
    let mut world = created(false);
    world.provider("p1").reach = Reach::Unreachable("down".into());
    assert!(tells(&world.look(&web())));
}

/// One that is over in a moment is told when it is over.
#[test]
fn a_move_is_told_once_it_has_taken_a_second() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    let epoch = world.look(&web()).moving.unwrap().epoch;
    world.millis = epoch + 999;
    let decision = world.look(&web());
    assert_eq!((tells(&decision), decision.again), (false, Some(Duration::from_millis(1))));
    world.millis = epoch + 1000;
    assert!(tells(&world.look(&web())));
}

#[test]
fn what_else_is_to_be_looked_at_does_not_wait_for_an_idle_moment() {
    let mut world = created(true);
    world.millis += 2000;
    // A fight that will have been over for a while.
    let now = world.millis;
    let memory = &mut world.memories.get_mut(&web()).unwrap().writes;
    (0..5).for_each(|_| memory.wrote(Subject::Copy, [1; 8], None, now));
    let decision = world.look(&web());
    assert_eq!((decision.when_idle, decision.again), (false, Some(Duration::from_secs(1))));
}

#[test]
fn a_consumer_that_is_gone_for_longer_gives_up_its_turn_to_move() {
    let mut world = World::served();
    for (reach, rests) in [(Reach::Unreachable("down".into()), true), (Reach::Lost("blip".into()), false)] {
        world.consumer().reach = reach;
        assert_eq!(world.look(&web()).rests, rests);
    }
    world.consumer().reach = Reach::Ready;
    assert!(!world.look(&web()).rests);
}

/// Nobody tells that a blip has become an outage.
#[test]
fn a_consumer_that_cannot_be_reached_is_looked_at_again_while_it_has_a_turn_to_move() {
    let mut world = World::served();
    world.consumer().reach = Reach::Lost("blip".into());
    assert_eq!(world.look(&web()).again, None);
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.consumer().reach = Reach::Lost("blip".into());
    assert_eq!(world.look(&web()).again, Some(Duration::from_secs(2)));
}

#[test]
fn what_a_provider_cannot_be_asked_for_is_told_where_it_lasts() {
    let mut world = World::served();
    world.provider("p1").listed = false;
    let decision = world.look(&web());
    assert_eq!(
        (decision.steps.len(), decision.again),
        (0, Some(Duration::from_secs(2))),
        "it may be known in a moment"
    );
    world.oddities.trouble = Some("it may not list certificates".into());
    world.settle(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/Forbidden") && told.contains("may not list"), "{told}");
}
