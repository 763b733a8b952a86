//! Behind the switch: the consumer is served by the new copy, whatever happens to either side.

use broker_api::{ClusterName, MigrationState, keys};
use broker_core::{
    decision::{Decision, State},
    memory::Subject,
    movement::{Configured, Request},
    snapshot::{Confirmed, Live},
};
use runtime_effect::{reach::Reach, write::Op};
use serde_json::{Value, json};

use crate::decide::{
    migrated::migrating,
    moves::{assigned, begin, corp, next, phase, ready, rename},
    world::{World, question, web},
};

#[test]
fn a_blip_of_the_new_provider_changes_nothing_for_the_consumer() {
    for reach in [Reach::Lost("blip".into()), Reach::Settling, Reach::Unreachable("down".into())] {
        let mut world = migrating(MigrationState::CutoverInProgress);
        assert_eq!(phase(&world), "new");
        world.restart();
        world.provider("p2").reach = reach.clone();
        let before = world.log.len();
        for _ in 0..4 {
            world.pass(&web());
        }
        assert_eq!(phase(&world), "new", "{reach:?}");
        let writes = &world.log[before..];
        assert!(writes.iter().all(|write| write.cluster == ClusterName::consumer("homer")), "{writes:?}");
        assert!(world.copy("p1", &web()).is_some());
        world.provider("p2").reach = Reach::Ready;
        let now = world.millis;
        world.moves.reach(MigrationState::CutoverCompleted, now);
        world.settle_served(&web());
        assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    }
}

#[test]
fn whoever_is_on_its_way_to_one_that_cannot_be_seen_waits_for_no_turn() {
    for reach in [Reach::Lost("blip".into()), Reach::Settling, Reach::Unreachable("down".into())] {
        let mut world = migrating(MigrationState::CutoverInProgress);
        assert!(world.look(&web()).route.is_some());
        world.provider("p2").reach = reach.clone();
        let decision = world.look(&web());
        assert_eq!((decision.state, decision.route), (State::Unknown, None), "{reach:?}");
    }
}

#[test]
fn a_new_copy_that_is_deleted_is_made_again_and_the_consumer_is_not_sent_back_meanwhile() {
    let mut world = migrating(MigrationState::CutoverInProgress);
    assert_eq!(phase(&world), "new");
    world.provider("p2").delete(&World::copy_at(&web()));
    for _ in 0..4 {
        world.pass(&web());
        assert_eq!(phase(&world), "new");
    }
    assert!(world.copy("p1", &web()).is_some() && world.copy("p2", &web()).is_some());
}

#[test]
fn a_new_provider_that_stops_accepting_ends_its_move_and_is_left_by_another() {
    let mut world = migrating(MigrationState::CutoverInProgress);
    world.accept_no_more("p2");
    world.settle_briefly(&web());
    assert_eq!(phase(&world), "new");
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    for _ in 0..4 {
        world.pass(&web());
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    assert!(world.copy("p1", &web()).is_none());
    world.accept("p1", &json!({}));
    world.moves.configured = Configured::No;
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p1");
}

#[test]
fn stages_may_take_longer_than_a_copy_may_take_to_become_ready() {
    let mut world = migrating(MigrationState::InitialInProgress);
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({}));
    world.millis += 3_600_000;
    rename(&mut world, "b.com");
    world.pass(&web());
    world.pass(&web());
    assert_eq!(next(&world), "p2");
}

#[test]
fn an_old_copy_that_is_being_deleted_is_nothing_to_go_back_to() {
    let mut world = corp();
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world.settle_briefly(&web());
    assert!(world.copy("p1", &web()).unwrap()["metadata"].get("deletionTimestamp").is_some());
    rename(&mut world, "a.corp");
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));
    assert!(world.copy("p2", &web()).is_some());
}

/// It may have gone at our own request, of which nobody has heard yet.
#[test]
fn an_old_copy_that_cannot_be_seen_is_nothing_to_go_back_to() {
    for reach in [Reach::Lost("blip".into()), Reach::Settling, Reach::Unreachable("down".into())] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        rename(&mut world, "a.corp");
        world.provider("p1").reach = reach.clone();
        for _ in 0..4 {
            world.pass(&web());
            assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")), "{reach:?}");
            world.millis += 600_000;
        }
        world.provider("p1").reach = Reach::Ready;
        world.settle(&web());
        assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null), "{reach:?}");
    }
}

/// The new copy is the only one there is.
#[test]
fn an_old_copy_that_is_gone_when_it_is_seen_again_was_nothing_to_go_back_to() {
    for engaged in [true, false] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        world.provider_status("p2", &web(), ready("new"));
        world.provider("p1").delete(&World::copy_at(&web()));
        world.provider("p1").reach = Reach::Unreachable("down".into());
        if !engaged {
            world.moves.left.insert(ClusterName::provider("p1"), world.millis);
        }
        rename(&mut world, "a.corp");
        for _ in 0..4 {
            world.pass(&web());
            assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")), "engaged: {engaged}");
        }
        world.provider("p1").reach = Reach::Ready;
        world.moves.left.clear();
        world.accept("p2", &json!({}));
        world.settle_served(&web());
        assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
        assert!(world.copy("p1", &web()).is_none());
    }
}

#[test]
fn nothing_goes_back_to_who_has_not_said_that_it_accepts_nor_to_a_copy_that_goes() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider("p1").acceptances_known = false;
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));

    let mut world = migrating(MigrationState::InitialInProgress);
    world.accept("p2", &json!({}));
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.provider("p1").delete(&World::copy_at(&web()));
    rename(&mut world, "a.corp");
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));
}

/// Nobody else serves it.
#[test]
fn where_the_old_copy_is_gone_the_consumer_sees_the_new_one_though_it_is_not_ready() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), json!({"phase": "starting"}));
    world.provider("p1").delete(&World::copy_at(&web()));
    world.settle_briefly(&web());
    assert_eq!((next(&world), phase(&world)), (json!("p2"), json!("starting")));
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/Placed: served by provider p2"));
    assert!(world.condition(&web(), "Moving").unwrap().contains("the copy at provider p2 to be ready"));
}

/// `web` moves to p2, where its copy is ready; p3 takes names under .net.
fn ready_beside_a_third() -> World {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"filters": [{"key": "fqdn", "suffix": ".net"}]}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world
}

/// The old copy goes, and its watch does not tell.
fn lose_unseen(world: &mut World) {
    let p1 = world.provider("p1");
    p1.stale = Some(p1.objects.clone());
    p1.delete(&World::copy_at(&web()));
}

/// The watch of the old provider is silent: its copy has gone since it was seen.
#[test]
fn an_old_copy_that_is_only_remembered_is_nothing_to_go_back_to() {
    for (name, ends_at) in [("a.corp", "p1"), ("a.net", "p3")] {
        let mut world = ready_beside_a_third();
        lose_unseen(&mut world);
        rename(&mut world, name);
        for _ in 0..6 {
            world.pass(&web());
            assert!(world.copy("p2", &web()).is_some(), "it is the only one");
        }
        assert_eq!(assigned(&world), "p2", "{name}: it is left from there");
        world.provider("p1").stale = None;
        world.settle_served(&web());
        assert_eq!((assigned(&world), next(&world)), (json!(ends_at), Value::Null));
    }
}

/// Somebody else would have it; the second copy, which may be the only one, would go.
#[test]
fn nobody_goes_on_before_all_say_the_same_of_the_old_copy() {
    let mut world = ready_beside_a_third();
    rename(&mut world, "a.net");
    let object = question(&world.decide(&web(), None)).expect("asks first");
    let uid: Box<str> = world.copy("p1", &web()).unwrap()["metadata"]["uid"].as_str().unwrap().into();
    let there = |deleting| Live::Present { uid: uid.clone(), deleting };
    for (live, goes_on) in [(there(false), true), (there(true), false), (Live::Unknown, false)] {
        let confirmed = Confirmed { object: object.clone(), live };
        let decision = world.decide(&web(), Some(&confirmed));
        let on = decision.moving.as_ref().is_some_and(|moving| moving.to == ClusterName::provider("p3"));
        let marks = decision.writes().any(|write| write.subject == Subject::Marks);
        assert_eq!(on || marks, goes_on, "{confirmed:?} {decision:#?}");
    }
}

/// It takes its time to become ready, and somebody else would have the object: not if it is the only copy.
#[test]
fn a_copy_that_is_not_ready_in_time_is_not_given_up_for_one_that_is_only_remembered() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"filters": [{"key": "fqdn", "suffix": ".com"}], "priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    assert_eq!(next(&world), "p2");
    lose_unseen(&mut world);
    world.look(&web());
    world.millis += 3_600_000;
    for _ in 0..4 {
        world.pass(&web());
        assert!(world.copy("p2", &web()).is_some() && world.copy("p3", &web()).is_none());
    }
}

/// Whether the end of the move is written.
fn is_undone(decision: &Decision) -> bool {
    decision.writes().flat_map(|write| &write.notes).any(|note| note.reason == "MoveUndone")
}

/// Of a Migration that has failed the old copy stays, whatever is said of it.
#[test]
fn what_has_failed_deletes_no_old_copy_that_nobody_is_sure_of() {
    let mut world = migrating(MigrationState::InitialInProgress);
    let now = world.millis;
    world.moves.reach(MigrationState::Failed, now);
    let object = question(&world.decide(&web(), None)).expect("asks first");
    let uid: Box<str> = world.copy("p1", &web()).unwrap()["metadata"]["uid"].as_str().unwrap().into();
    let there = |deleting| Live::Present { uid: uid.clone(), deleting };
    let other = Live::Present { uid: "other".into(), deleting: false };
    for (live, undone) in [(there(false), true), (there(true), false), (other, false), (Live::Unknown, false)] {
        let confirmed = Confirmed { object: object.clone(), live };
        let decision = world.decide(&web(), Some(&confirmed));
        assert_eq!(is_undone(&decision), undone, "{confirmed:?} {decision:#?}");
        assert!(undone || decision.is_held_up(), "{confirmed:?} {decision:#?}");
        assert!(!decision.writes().any(|write| matches!(write.op, Op::Delete { .. })), "{confirmed:?} {decision:#?}");
    }
}

/// The old copy may have gone before there were stages: nobody goes back to what cannot be seen (a MigrationConfiguration that came
/// when the deletion had been sent and not answered).
#[test]
fn what_has_failed_goes_back_to_nothing_that_cannot_be_seen() {
    for silent in [false, true] {
        let mut world = migrating(MigrationState::InitialInProgress);
        world.accept("p1", &json!({"unreachableAfterSeconds": 60}));
        let now = world.millis;
        world.moves.reach(MigrationState::Failed, now);
        world.provider("p1").reach = Reach::Unreachable("down".into());
        world.provider("p1").silent_since = Some(now);
        world.millis += if silent { 60_000 } else { 59_000 };
        assert!(!is_undone(&world.look(&web())));
        world.pass(&web());
        assert_eq!(assigned(&world) != "p1", silent, "{}", assigned(&world));
    }
    let mut world = migrating(MigrationState::InitialInProgress);
    world.provider("p1").delete(&World::copy_at(&web()));
    let now = world.millis;
    world.moves.reach(MigrationState::Failed, now);
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null), "there is nothing to go back to");
}

/// While it asks it keeps what it has: its room, its turn, what its Migration was told.
#[test]
fn whoever_asks_is_held_up_until_it_is_answered() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    rename(&mut world, "a.corp");
    let decision = world.decide(&web(), None);
    assert!(question(&decision).is_some() && decision.is_held_up());
    assert_eq!((decision.moving, decision.route, decision.gave_up), (None, None, None));
}

/// What is decided on what is said of the old copy, where the old provider would have the object back.
#[test]
fn nobody_goes_back_before_the_old_provider_has_said_that_the_copy_is_there() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    rename(&mut world, "a.corp");
    let object = question(&world.decide(&web(), None)).expect("asks first");
    assert_eq!(object.cluster, ClusterName::provider("p1"));
    let uid = |uid: &str| Live::Present { uid: uid.into(), deleting: false };
    let there = world.copy("p1", &web()).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let going = Live::Present { uid: there.as_str().into(), deleting: true };
    for (live, goes_back) in [(uid(&there), true), (uid("other"), false), (Live::Unknown, false), (going, false)] {
        let confirmed = Confirmed { object: object.clone(), live };
        let decision = world.decide(&web(), Some(&confirmed));
        assert_eq!(question(&decision), None, "that was answered");
        assert_eq!(is_undone(&decision), goes_back, "{confirmed:?}");
        assert!(!decision.writes().any(|write| matches!(write.op, Op::Delete { .. })), "{confirmed:?} {decision:#?}");
    }
    // What was said of another object is no answer.
    let other = Confirmed { object: web().place(), live: uid(&there) };
    assert_eq!(question(&world.decide(&web(), Some(&other))), Some(object));
}

/// Its AcceptAPI says for how long others wait.
#[test]
fn an_object_whose_old_provider_is_silent_too_long_is_placed_anew() {
    for lets_go in [false, true] {
        let mut world = corp();
        world.engage(ClusterName::provider("p3"));
        world.accept("p3", &json!({"priority": -1}));
        let after = if lets_go { json!({"unreachableAfterSeconds": 60}) } else { json!({}) };
        world.accept("p1", &after);
        world.accept("p2", &json!({"priority": 9}));
        world.annotate("p2/all", false, true);
        begin(&mut world);
        assert_eq!(next(&world), "p2");
        world.look(&web());
        world.provider("p1").reach = Reach::Unreachable("down".into());
        world.provider("p1").silent_since = Some(world.millis);
        world.millis += 600_000;
        world.pass(&web());
        assert_eq!(assigned(&world) != "p1", lets_go, "{}", assigned(&world));
    }
}

/// What is known of it is old.
#[test]
fn a_copy_that_serves_is_not_superseded_by_one_that_cannot_be_seen() {
    let mut world = ready_beside_a_third();
    world.provider("p1").reach = Reach::Lost("blip".into());
    rename(&mut world, "a.net");
    for _ in 0..4 {
        world.pass(&web());
        assert!(world.copy("p2", &web()).is_some(), "it may be the only one");
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p3")));
    world.provider("p1").reach = Reach::Ready;
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p3");
    assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_none());
}

#[test]
fn nobody_gets_past_a_persons_migration_by_taking_the_marks_away() {
    let mut world = corp();
    world.accept("p1", &json!({}));
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    world.moves.reach(MigrationState::InitialInProgress, 0);
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.restart();
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));
    assert!(world.copy("p1", &web()).is_some());
    assert!(
        world.origin(&web()).unwrap()["metadata"]["annotations"][keys::ASSIGNMENT].as_str().unwrap().contains("p.")
    );
}

#[test]
fn a_persons_migration_to_where_the_name_is_taken_is_refused() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    let at = World::copy_at(&web());
    world.provider("p2").put(&at, json!({"metadata": {}, "spec": {"fqdn": "squatter"}}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    world.moves.migrations[0].1.force = true;
    assert_eq!(world.settle(&web()).state, State::Served);
    let refused = &world.moves.requests(&web())[0].1;
    assert!(matches!(refused, Request::Refused("NameConflict", _)), "{refused:?}");
}

#[test]
fn the_only_copy_left_is_what_a_changed_mind_moves_from() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"filters": [{"key": "fqdn", "suffix": ".net"}]}));
    world.moves.configured = Configured::Yes;
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world.settle_briefly(&web());
    // The old provider deletes what it runs.
    world.provider("p1").delete(&World::copy_at(&web()));
    rename(&mut world, "a.net");
    world.moves.configured = Configured::No;
    world.moves.migrations.clear();
    for _ in 0..6 {
        world.pass(&web());
        assert!(world.copy("p2", &web()).is_some() || world.copy("p3", &web()).is_some());
        if world.copy("p3", &web()).is_some_and(|copy| copy["status"].is_null()) {
            assert!(world.copy("p2", &web()).is_some(), "nobody serves it");
        }
    }
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p3");
}

#[test]
fn stages_never_run_in_a_reserved_namespace() {
    let mut world = corp();
    world.moves.configured = Configured::Yes;
    world.moves.reserved = true;
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world.millis += 2000;
    world.settle_briefly(&web());
    assert!(world.moves.migrations.is_empty());
    assert!(world.condition(&web(), "Moving").unwrap().contains("which is reserved"));
    assert!(world.copy("p1", &web()).is_some());
}
