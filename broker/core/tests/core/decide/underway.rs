//! A move that is under way, and whatever else becomes known of it meanwhile.

use broker_api::{ClusterName, MigrationState, keys};
use broker_core::{
    decision::{Decision, State},
    memory::Subject,
    movement::{Configured, Phase, Request, Route},
};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use crate::decide::{
    migrated::migrating,
    moves::{assigned, begin, corp, next, phase, ready, rename},
    world::{World, web},
};

/// `web` is asked for by a person, and on its way.
pub(crate) fn asked() -> World {
    let mut world = corp();
    world.accept("p1", &json!({}));
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    let passes: Vec<Decision> = (0..3).map(|_| world.pass(&web())).collect();
    assert_eq!(next(&world), "p2");
    let mut moves = passes.iter().filter_map(|decision| decision.moving.as_ref());
    assert!(passes.iter().any(|decision| decision.begins));
    assert!(moves.all(|moving| moving.migration.as_deref() == Some("team/mine")), "{passes:?}");
    world
}

/// The first thing that is written once the marks were taken away and the broker has forgotten all.
pub(crate) fn marked_anew(world: &mut World) -> (Value, Value, bool) {
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.restart();
    world.pass(&web());
    let signature = &world.origin(&web()).unwrap()["metadata"]["annotations"][keys::ASSIGNMENT];
    let epoch = signature.as_str().unwrap().split('.').nth(2).unwrap();
    (assigned(world), next(world), epoch.ends_with('p'))
}

#[test]
fn nobody_gets_past_a_migration_by_taking_the_marks_away_and_it_stays_whose_it_is() {
    let mut world = migrating(MigrationState::InitialInProgress);
    assert_eq!(marked_anew(&mut world), (json!("p1"), json!("p2"), false), "the broker's");
    let mut world = asked();
    world.serve("p2", &web());
    world.moves.reach(MigrationState::InitialInProgress, 0);
    assert_eq!(marked_anew(&mut world), (json!("p1"), json!("p2"), true), "a person's");
}

#[test]
fn only_whoever_wants_something_else_waits_for_the_move_to_end() {
    let mut world = asked();
    world.moves.ask(&web(), "other", "p1", "p2", world.millis);
    let decision = world.look(&web());
    let waits: Vec<&str> = decision.requests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(waits, ["team/other"]);
    assert!(matches!(decision.requests[0].1, Request::Waits(_)));
}

#[test]
fn what_waits_is_looked_at_when_anything_changes_and_what_is_refused_is_not() {
    let restless = |from: &str| {
        let mut world = corp();
        // A provider that is not known yet.
        world.moves.ask(&web(), "mine", from, "p3", world.millis);
        let decision = world.look(&web());
        assert_eq!(decision.requests.len(), 1);
        decision.restless
    };
    assert!(restless("p1") && !restless("p2"));
}

#[test]
fn where_it_cannot_go_now_what_it_has_is_served() {
    type Spoil = fn(&mut World);
    let spoils: [(&str, Spoil); 3] = [
        ("migrations", |world| world.moves.migrations_known = false),
        ("turn", |world| world.moves.most = 0),
        ("others", |world| {
            world.engage(ClusterName::provider("p3"));
            world.provider("p3").reach = Reach::Settling;
        }),
    ];
    for (what, spoil) in spoils {
        let mut world = corp();
        rename(&mut world, "a.com");
        spoil(&mut world);
        world.provider_status("p1", &web(), ready("news"));
        assert_eq!(world.pass(&web()).state, State::NotAccepted, "{what}");
        assert_eq!((phase(&world), next(&world)), (json!("news"), Value::Null), "{what}");
    }
}

#[test]
fn a_persons_migration_waits_for_its_turn_and_says_so() {
    let mut world = corp();
    world.moves.most = 0;
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    let decision = world.pass(&web());
    assert!(matches!(&decision.requests[..], [(_, Request::Waits(why))] if why.contains("turn")), "{decision:?}");
    assert_eq!((decision.state, next(&world)), (State::Served, Value::Null));
}

#[test]
fn what_would_move_counts_for_the_one_who_asks_or_for_the_one_who_is_left() {
    let route = |rebalance: bool| {
        let mut world = corp();
        world.moves.most = 0;
        world.accept("p2", &json!({"priority": 9}));
        if rebalance {
            world.annotate("p2/all", false, true);
        } else {
            rename(&mut world, "a.com");
        }
        world.look(&web()).route.unwrap()
    };
    let (from, to) = (ClusterName::provider("p1"), ClusterName::provider("p2"));
    assert_eq!(route(true), Route::Rebalance { to: to.clone() });
    assert_eq!(route(false), Route::Leave { from, to });
}

#[test]
fn a_provider_that_is_drained_is_named_where_nobody_else_takes_what_it_has() {
    let mut world = corp();
    world.accept("p1", &json!({"cordoned": true}));
    world.annotate("p1/all", true, false);
    world.settle(&web());
    assert!(world.condition(&web(), "Moving").unwrap().contains("provider p1 is being drained"));
    let mut world = corp();
    rename(&mut world, "a.org");
    world.settle(&web());
    assert!(!world.condition(&web(), "Accepted").unwrap().contains("drained"));
}

#[test]
fn an_object_whose_copy_is_gone_has_nothing_to_move_from() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.provider("p1").delete(&World::copy_at(&web()));
    let decision = world.pass(&web());
    assert_eq!(decision.steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    world.settle_served(&web());
    assert_eq!(phase(&world), Value::Null);
    world.assert_steady(&web());
}

#[test]
fn a_copy_that_is_not_known_is_neither_left_nor_taken_for_gone() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.provider("p1").listed = false;
    let decision = world.pass(&web());
    assert_eq!((decision.state, decision.steps.len()), (State::Unknown, 0));
}

#[test]
fn where_nobody_else_takes_it_a_target_that_is_late_is_waited_for() {
    for reach in [Reach::Ready, Reach::Unreachable("down".into())] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        world.look(&web());
        world.millis += 600_000;
        world.provider("p2").reach = reach;
        let decision = world.look(&web());
        assert!(decision.rests && decision.gave_up.is_none(), "others move meanwhile");
        assert!(decision.writes().any(|write| matches!(write.op, runtime_effect::write::Op::MergeStatus(_))));
        world.settle_briefly(&web());
        assert!(world.condition(&web(), "Moving").unwrap().contains("waiting for"));
        assert_eq!(next(&world), "p2");
    }
}

#[test]
fn a_target_that_is_late_and_silent_is_left_for_another() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.look(&web());
    world.provider("p2").reach = Reach::Unreachable("down".into());
    world.millis += 600_000;
    let decision = world.pass(&web());
    assert_eq!((next(&world), decision.steps.len()), (json!("p3"), 1));
}

#[test]
fn a_target_that_is_taken_out_for_good_is_left_and_not_before() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    let p2 = ClusterName::provider("p2");
    world.moves.left.insert(p2, world.millis);
    world.millis += 59_000;
    let decision = world.pass(&web());
    assert_eq!((next(&world), decision.again.unwrap().as_secs()), (json!("p2"), 1), "it may return");
    world.millis += 1000;
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
}

#[test]
fn behind_the_switch_too() {
    let mut world = migrating(MigrationState::CutoverInProgress);
    world.moves.left.insert(ClusterName::provider("p2"), world.millis);
    world.millis += 60_000;
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
}

#[test]
fn a_target_that_accepts_no_more_is_left_for_another_at_once_but_not_by_what_a_person_wants() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.accept_no_more("p2");
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p3")));

    let mut world = asked();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({}));
    world.accept_no_more("p2");
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
}

#[test]
fn whoever_holds_the_only_copy_has_the_object() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider("p1").delete(&World::copy_at(&web()));
    world.accept_no_more("p2");
    assert_eq!(world.pass(&web()).steps.len(), 1);
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
}

#[test]
fn a_copy_that_is_not_ready_is_as_good_as_ready_by_force_once_it_is_there() {
    let told = |force: bool, passes: usize| {
        let mut world = corp();
        world.accept("p2", &json!({}));
        world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
        world.moves.migrations[0].1.force = force;
        (0..passes).for_each(|_| drop(world.pass(&web())));
        assert_eq!(next(&world), "p2");
        let moving = world.look(&web()).moving.unwrap();
        (world.copy("p2", &web()).is_some(), moving.phase)
    };
    assert_eq!(told(true, 1), (false, Phase::Copying));
    assert_eq!(told(true, 3), (true, Phase::Ready));
    assert_eq!(told(false, 3), (true, Phase::Copying));
}

#[test]
fn why_a_new_copy_cannot_be_made_or_changed_is_what_is_waited_for() {
    for made in [false, true] {
        let mut world = corp();
        rename(&mut world, "a.com");
        world.pass(&web());
        if made {
            world.pass(&web());
            rename(&mut world, "b.com");
        }
        let decision = world.look(&web());
        let write = decision.writes().find(|write| write.subject == Subject::Successor).unwrap();
        let now = world.millis;
        let memory = world.memories.entry(web()).or_default();
        memory.writes.refused(write.subject, write.intent, "Invalid", "not so".into(), now, 0);
        // Another one, of something that is not wanted any more.
        memory.writes.refused(write.subject, [9; 8], "Invalid", "long ago".into(), now, 0);
        let decision = world.look(&web());
        let waits = decision.moving.unwrap().waits_for;
        assert!(waits.contains("not so"), "made: {made}: {waits}");
        assert!(!decision.complete);
    }
}

#[test]
fn while_it_moves_a_provider_that_accepts_it_still_gets_what_is_new_and_one_that_does_not_keeps_what_it_has() {
    for accepts in [true, false] {
        let mut world = if accepts { asked() } else { corp() };
        if !accepts {
            rename(&mut world, "a.com");
            begin(&mut world);
        }
        let p1 = ClusterName::provider("p1");
        world.put_secret(&p1, "web-tls", json!({"metadata": {}, "data": {"k": "one"}}));
        let mut status = ready("old");
        status["relatedResources"] = json!({"tls": {"gvk": {"version": "v1", "kind": "Secret"}, "name": "web-tls"}});
        let generation = world.copy("p1", &web()).unwrap()["metadata"]["generation"].clone();
        status["observedGeneration"] = generation;
        world.provider_status("p1", &web(), status);
        world.edit(&web(), |origin| origin["spec"]["size"] = json!(7));
        world.millis += 2000;
        world.settle_briefly(&web());
        assert_eq!(next(&world), "p2");
        let origin = world.origin(&web()).unwrap();
        let current = origin["status"]["observedGeneration"] == origin["metadata"]["generation"];
        let came = world.secret(&ClusterName::consumer("homer"), "web-tls").is_some();
        let synced = world.copy("p1", &web()).unwrap()["spec"]["size"] == 7;
        assert_eq!((synced, came, current), (accepts, accepts, false), "the provider has not seen the new spec");
    }
}

#[test]
fn an_old_copy_that_is_on_its_way_out_is_not_written() {
    let mut world = asked();
    world.moves.reach(MigrationState::InitialInProgress, 0);
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.provider("p1").delete(&World::copy_at(&web()));
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(7));
    world.settle_briefly(&web());
    assert_eq!(next(&world), "p2");
    assert_ne!(world.copy("p1", &web()).unwrap()["spec"]["size"], 7);
}

#[test]
fn behind_the_switch_what_keeps_the_consumer_from_news_is_told_where_it_lasts() {
    for (reach, told) in [(Reach::Lost("blip".into()), false), (Reach::Unreachable("down".into()), true)] {
        let mut world = migrating(MigrationState::CutoverInProgress);
        world.provider("p2").reach = reach;
        world.settle_briefly(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert_eq!(words.starts_with("False/ProviderUnreachable"), told, "{words}");
    }
    for refused in [false, true] {
        let mut world = migrating(MigrationState::CutoverInProgress);
        world.millis += 2000;
        world.provider("p2").delete(&World::copy_at(&web()));
        if refused {
            let decision = world.look(&web());
            let write = decision.writes().find(|write| write.subject == Subject::Successor).unwrap();
            let now = world.millis;
            let memory = world.memories.get_mut(&web()).unwrap();
            memory.writes.refused(write.subject, write.intent, "Invalid", "not so".into(), now, 0);
        }
        world.pass(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert_eq!(words.starts_with("False/NotAccepted") && words.contains("not so"), refused, "{words}");
        assert_eq!(phase(&world), "new", "what it shows is not that of the old copy");
    }
}

#[test]
fn a_source_that_is_taken_out_for_good_is_not_waited_for() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world.moves.left.insert(ClusterName::provider("p1"), world.millis);
    world.settle_briefly(&web());
    world.millis += 59_500;
    let decision = world.settle_briefly(&web());
    assert_eq!(next(&world), "p2", "it may return");
    assert!(decision.again.is_some_and(|again| again.as_millis() <= 500), "{:?}", decision.again);
    world.millis += 500;
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
}

#[test]
fn a_deletion_does_not_wait_for_a_provider_that_is_taken_out_for_good() {
    let mut world = World::served();
    world.moves.left.insert(ClusterName::provider("p1"), world.millis);
    world.delete(&web());
    world.millis += 59_000;
    world.settle_briefly(&web());
    assert!(world.origin(&web()).is_some());
    world.millis += 1000;
    world.settle_briefly(&web());
    assert!(world.origin(&web()).is_none());
}

#[test]
fn what_is_seen_of_the_old_copy_meanwhile_is_told_where_it_lasts() {
    for (reach, told) in [(Reach::Lost("blip".into()), false), (Reach::Unreachable("down".into()), true)] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        world.provider("p1").reach = reach;
        world.settle_briefly(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert_eq!(words.starts_with("False/ProviderUnreachable"), told, "{words}");
    }
}

#[test]
fn while_a_persons_stages_run_the_old_copy_that_goes_undoes_nothing() {
    let mut world = asked();
    world.serve("p2", &web());
    world.moves.reach(MigrationState::InitialInProgress, 0);
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.provider("p1").delete(&World::copy_at(&web()));
    world.moves.reach(MigrationState::Failed, world.millis);
    world.pass(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null), "what has failed is undone all the same");
}

#[test]
fn a_provider_that_does_not_answer_and_whose_word_is_not_known_is_told() {
    let mut world = World::served();
    world.provider("p1").reach = Reach::Unreachable("down".into());
    world.provider("p1").acceptances_known = false;
    assert_eq!(world.settle(&web()).state, State::Blocked);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/ProviderUnreachable"));
}

#[test]
fn a_persons_migration_waits_for_the_word_of_a_provider_that_is_not_heard_yet() {
    let mut world = corp();
    world.accept_no_more("p2");
    world.millis += 3_600_000;
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis - 60_000);
    let request = |world: &mut World| world.look(&web()).requests.pop().unwrap().1;
    assert!(matches!(request(&mut world), Request::Refused("NotAccepted", _)));
    world.provider("p2").acceptances_known = false;
    assert!(matches!(request(&mut world), Request::Waits(_)));
}

#[test]
fn a_configuration_that_is_not_known_holds_a_move_and_is_asked_for_again() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.moves.configured = Configured::Unknown;
    world.provider_status("p2", &web(), ready("new"));
    let decision = world.look(&web());
    assert!(decision.again.is_some() && decision.moving.unwrap().waits_for.contains("to become known"));
}

#[test]
fn a_move_begins_with_one_write_and_nothing_beside_it() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.provider_status("p1", &web(), ready("news"));
    let decision = world.look(&web());
    assert_eq!((decision.state, decision.steps.len()), (State::Moving, 1));
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    world.provider_status("p1", &web(), ready("news"));
    let decision = world.look(&web());
    assert_eq!((decision.state, decision.steps.len()), (State::Moving, 1));
}

#[test]
fn one_that_is_on_its_way_to_who_asks_for_it_goes_on_whatever_the_order_is_by_then() {
    let mut world = corp();
    world.accept("p2", &json!({"priority": 9}));
    world.annotate("p2/all", false, true);
    begin(&mut world);
    world.accept("p2", &json!({"priority": -9}));
    world.annotate("p2/all", false, true);
    world.pass(&web());
    assert_eq!(next(&world), "p2");
    // Until it does not ask any more.
    world.annotate("p2/all", false, false);
    world.pass(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
}
