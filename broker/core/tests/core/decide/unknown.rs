//! "Unknown" never places, moves, deletes or completes anything.

use broker_api::ClusterName;
use broker_core::decision::{Decision, State, Step};
use runtime_effect::reach::Reach;
use serde_json::json;

use crate::decide::world::{World, verb, web};

/// Nothing but what the consumer is told.
#[track_caller]
fn only_tells(decision: &Decision) {
    for write in decision.writes() {
        assert_eq!(verb(&write.op), "status", "{write:?}");
    }
}

fn settling_world() -> World {
    let mut world = World::new(&["p1", "p2"]);
    world.accept("p1", &json!({}));
    world.accept("p2", &json!({"priority": 5}));
    world.create(&web(), json!({"fqdn": "a"}));
    world
}

#[test]
fn a_consumer_that_is_not_listed_says_nothing() {
    let mut world = World::served();
    world.consumer().listed = false;
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
    world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
}

#[test]
fn a_consumer_that_cannot_be_reached_changes_nothing() {
    let mut world = World::served();
    world.provider_status("p1", &web(), json!({"phase": "News"}));
    for reach in [Reach::Unreachable("down".into()), Reach::Lost("blip".into()), Reach::Settling] {
        world.consumer().reach = reach;
        assert_eq!(world.assert_holds_still(&web()), State::Unknown);
    }
}

#[test]
fn an_orphan_is_not_deleted_while_its_consumer_cannot_be_asked() {
    let mut world = World::served();
    world.force_remove(&web());
    world.consumer().reach = Reach::Unreachable("down".into());
    world.assert_holds_still(&web());
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn nobody_is_placed_while_a_provider_settles() {
    let mut world = settling_world();
    world.provider("p2").reach = Reach::Settling;
    let decision = world.look(&web());
    assert_eq!((decision.state, decision.steps.len()), (State::Unknown, 0));
    assert!(decision.again.is_some());
    world.provider("p2").reach = Reach::Ready;
    world.settle(&web());
    assert!(world.copy("p2", &web()).is_some());
}

#[test]
fn nobody_is_placed_at_a_provider_whose_objects_or_kinds_are_unknown() {
    for spoil in [
        |world: &mut World| world.provider("p1").listed = false,
        |world: &mut World| {
            world.provider("p1").discovered = false;
        },
    ] {
        let mut world = World::with_origin();
        spoil(&mut world);
        for _ in 0..3 {
            only_tells(&world.pass(&web()));
        }
        assert_eq!(world.origin(&web()).unwrap()["metadata"].get("finalizers"), None);
    }
}

#[test]
fn acceptances_that_are_not_known_are_not_taken_for_none() {
    let mut world = World::new(&["p1"]);
    world.create(&web(), json!({}));
    world.provider("p1").acceptances_known = false;
    let decision = world.settle(&web());
    only_tells(&decision);
    let words = world.condition(&web(), "Brokered").unwrap_or_default();
    assert!(!words.contains("no provider has an AcceptAPI"), "{words}");

    let mut world = World::served();
    world.accept_no_more("p1");
    world.provider("p1").acceptances_known = false;
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(7));
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
    world.provider("p1").delete(&World::copy_at(&web()));
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
}

#[test]
fn a_copy_that_is_not_listed_is_neither_missing_nor_gone() {
    let mut world = World::served();
    world.provider("p1").listed = false;
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
    world.delete(&web());
    for _ in 0..3 {
        only_tells(&world.pass(&web()));
    }
    assert!(world.origin(&web()).is_some(), "the finalizer holds");
}

#[test]
fn an_unreachable_provider_loses_nothing() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    world.provider("p1").reach = Reach::Lost("blip".into());
    assert_eq!(world.assert_holds_still(&web()), State::Unknown, "a blip is not worth a word");
    world.provider("p1").reach = Reach::Unreachable("down".into());
    assert_eq!(world.settle(&web()).state, State::Blocked);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/ProviderUnreachable"));
    assert!(world.copy("p2", &web()).is_none());
    world.provider("p1").reach = Reach::Ready;
    world.settle(&web());
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/"));
}

#[test]
fn an_origin_that_lost_its_assignment_waits_for_all_who_may_hold_its_copy() {
    for spoil in [
        |world: &mut World| world.provider("p1").listed = false,
        |world: &mut World| {
            world.provider("p1").listed = false;
            world.provider("p1").reach = Reach::Unreachable("down".into());
        },
    ] {
        let mut world = World::served();
        world.engage(ClusterName::provider("p2"));
        world.accept("p2", &json!({"priority": 9}));
        world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
        spoil(&mut world);
        for _ in 0..3 {
            only_tells(&world.pass(&web()));
        }
        world.provider("p1").listed = true;
        world.provider("p1").reach = Reach::Ready;
        world.settle(&web());
        assert!(world.copy("p1", &web()).is_some());
        assert!(world.copy("p2", &web()).is_none(), "it is where it was");
    }
}

#[test]
fn related_copies_that_are_not_known_are_not_removed_or_made() {
    let mut world = World::served();
    let p1 = ClusterName::provider("p1");
    let reference = json!({"gvk": {"version": "v1", "kind": "Secret"}, "name": "web-tls"});
    world.put_secret(&p1, "web-tls", json!({"metadata": {}, "data": {"a": "1"}}));
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": {"tls": reference}}));
    world.settle(&web());
    assert!(world.secret(&ClusterName::consumer("homer"), "web-tls").is_some());
    world.owned_known = false;
    world.provider_status("p1", &web(), json!({"phase": "Up"}));
    world.settle(&web());
    assert!(world.secret(&ClusterName::consumer("homer"), "web-tls").is_some());
    world.owned_known = true;
    world.settle(&web());
    assert!(world.secret(&ClusterName::consumer("homer"), "web-tls").is_none());
}

/// After a takeover nobody knows for a moment what a consumer's objects own.
#[test]
fn an_object_goes_when_what_it_owns_is_known_or_a_little_later() {
    for known in [true, false] {
        let mut world = World::served();
        world.owned_known = false;
        world.delete(&web());
        for _ in 0..6 {
            world.pass(&web());
        }
        assert!(world.copy("p1", &web()).is_none() && world.origin(&web()).is_some());
        world.owned_known = known;
        world.millis += if known { 0 } else { 5_000 };
        world.pass(&web());
        assert!(world.origin(&web()).is_none());
    }
}

#[test]
fn an_absent_origin_is_confirmed_by_a_live_read_before_anything_is_deleted() {
    let mut world = World::served();
    // The cache has lost the object, the API server has not.
    let mut stale = world.consumer().objects.clone();
    stale.remove(&World::origin_at(&web()));
    world.consumer().stale = Some(stale);
    assert_eq!(world.decide(&web(), None).steps, [Step::Confirm(Box::new(web().place()))]);
    world.assert_holds_still(&web());
    world.consumer().stale = None;
    world.force_remove(&web());
    assert_eq!(world.decide(&web(), None).steps, [Step::Confirm(Box::new(web().place()))]);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}
