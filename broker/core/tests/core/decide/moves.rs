//! Leaving a provider: what makes an object move, in which order, what stops it, and what is left.

use broker_api::{ClusterName, keys};
use broker_core::{
    decision::{State, Step},
    movement::Configured,
};
use runtime_effect::{reach::Reach, write::Op};
use serde_json::{Value, json};

use crate::decide::world::{World, key, verb, web};

/// `web` is served by p1, which takes names under .corp; p2 takes what is under .com.
pub(crate) fn corp() -> World {
    let mut world = World::new(&["p1", "p2"]);
    world.accept("p1", &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    world.accept("p2", &json!({"filters": [{"key": "fqdn", "suffix": ".com"}]}));
    world.create(&web(), json!({"fqdn": "a.corp"}));
    world.settle_served(&web());
    world.provider_status("p1", &web(), ready("old"));
    world.settle(&web());
    world.log.clear();
    world
}

pub(crate) fn ready(phase: &str) -> Value {
    json!({"phase": phase, "conditions": [
        {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]})
}

pub(crate) fn rename(world: &mut World, fqdn: &str) {
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!(fqdn));
}

fn annotation(world: &World, key: &str) -> Value {
    world.origin(&web()).unwrap()["metadata"]["annotations"][key].clone()
}

pub(crate) fn assigned(world: &World) -> Value {
    annotation(world, keys::PROVIDER_CLUSTER)
}

pub(crate) fn next(world: &World) -> Value {
    annotation(world, keys::NEW_PROVIDER_CLUSTER)
}

/// Passes until the new copy is there and the broker waits for it.
pub(crate) fn begin(world: &mut World) {
    for _ in 0..3 {
        world.pass(&web());
    }
}

/// What the consumer's status says of the phase.
pub(crate) fn phase(world: &World) -> Value {
    world.origin(&web()).unwrap()["status"]["phase"].clone()
}

#[test]
fn an_object_whose_spec_no_longer_matches_moves_and_is_never_without_a_ready_copy() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "a.com");
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp", "the new spec is held back");
    world.millis += 2000;
    let decision = world.settle_briefly(&web());
    assert_eq!(decision.state, State::Moving);
    assert_eq!(phase(&world), "old");
    assert!(
        world
            .condition(&web(), "Moving")
            .unwrap()
            .starts_with("True/Copying: from provider p1 to provider p2; waiting")
    );
    assert!(world.copy("p1", &web()).is_some());

    world.provider_status("p2", &web(), ready("new"));
    world.settle(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    assert!(world.copy("p1", &web()).is_none());
    assert_eq!(phase(&world), "new");
    assert_eq!(world.condition(&web(), "Moving"), None);
    assert_eq!(
        world.writes().iter().filter(|write| !write.starts_with("status")).cloned().collect::<Vec<_>>(),
        [
            "patch homer/web",
            &format!("create p2/{}", World::copy_at(&web()).2),
            &format!("delete p1/{}", World::copy_at(&web()).2),
            "patch homer/web"
        ]
    );
    world.assert_steady(&web());
}

#[test]
fn a_move_that_is_over_at_once_takes_five_writes() {
    let mut world = corp();
    rename(&mut world, "a.com");
    world.settle_served(&web());
    let verbs: Vec<&str> = world.log.iter().map(|write| verb(&write.op)).collect();
    assert_eq!(verbs, ["patch", "create", "delete", "patch", "status"]);
    world.assert_steady(&web());
}

#[test]
fn nobody_else_accepts_it_stays_says_so_and_goes_on_when_somebody_does() {
    let mut world = corp();
    rename(&mut world, "a.org");
    assert_eq!(world.settle(&web()).state, State::NotAccepted);
    let accepted = world.condition(&web(), "Accepted").unwrap();
    assert!(accepted.starts_with("False/NotAccepted") && accepted.contains("no other provider accepts"), "{accepted}");
    world.provider_status("p1", &web(), ready("still"));
    world.settle(&web());
    assert_eq!(phase(&world), "still");
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    world.assert_steady(&web());
    world.accept("p2", &json!({}));
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");
    assert_eq!(world.condition(&web(), "Accepted"), None);
}

#[test]
fn a_spec_that_changes_back_undoes_the_move_at_no_cost_to_the_old_copy() {
    let mut world = corp();
    let before = world.copy("p1", &web()).unwrap()["metadata"].clone();
    rename(&mut world, "a.com");
    begin(&mut world);
    rename(&mut world, "a.corp");
    world.settle(&web());
    let after = world.copy("p1", &web()).unwrap()["metadata"].clone();
    assert_eq!((&after["uid"], &after["generation"]), (&before["uid"], &before["generation"]));
    assert!(world.copy("p2", &web()).is_none());
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
    world.assert_steady(&web());
}

#[test]
fn a_third_provider_takes_the_place_of_the_second() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"filters": [{"key": "fqdn", "suffix": ".net"}]}));
    rename(&mut world, "a.com");
    begin(&mut world);
    rename(&mut world, "a.net");
    for _ in 0..3 {
        world.pass(&web());
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p3")));
    assert!(world.copy("p2", &web()).is_none());
    assert!(world.copy("p1", &web()).is_some() && world.copy("p3", &web()).is_some());
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p3");
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn a_second_copy_that_is_ready_too_late_goes_although_the_first_is_not_ready() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"filters": [{"key": "fqdn", "suffix": ".net"}]}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p1", &web(), json!({"phase": "down"}));
    world.provider_status("p2", &web(), ready("late"));
    rename(&mut world, "a.net");
    for _ in 0..3 {
        world.pass(&web());
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p3")));
    assert!(world.copy("p2", &web()).is_none(), "it was made after the one that serves");
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn a_target_that_stops_accepting_is_left_for_another_or_for_nobody() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.accept_no_more("p2");
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p3");
    assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_none());

    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.accept_no_more("p2");
    assert_eq!(world.settle(&web()).state, State::NotAccepted);
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
    assert!(world.copy("p2", &web()).is_none());
    world.assert_steady(&web());
}

#[test]
fn a_target_that_is_never_ready_is_given_up_and_last_in_line() {
    let mut world = corp();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({"priority": -1}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.millis += 599_000;
    world.pass(&web());
    assert_eq!(next(&world), "p2");
    world.millis += 2000;
    world.pass(&web());
    assert_eq!(next(&world), "p3");
    assert_eq!(world.memories[&web()].given_up(&ClusterName::provider("p2")), Some(0));
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p3");
}

#[test]
fn a_better_provider_alone_moves_nothing_one_that_asks_for_its_share_does() {
    let mut world = corp();
    world.accept("p2", &json!({"priority": 9}));
    world.assert_steady(&web());
    world.annotate("p2/all", false, true);
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");
    assert!(world.copy("p1", &web()).is_none());
    world.assert_steady(&web());
    // One that would not be chosen attracts nothing.
    world.accept("p1", &json!({"priority": 3}));
    world.annotate("p1/all", false, true);
    world.assert_steady(&web());
}

#[test]
fn a_cordon_moves_nothing_with_drain_all_leave() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.accept("p1", &json!({"cordoned": true}));
    world.assert_steady(&web());
    world.annotate("p1/all", true, false);
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");

    // Without another provider it stays and is served as before.
    let mut world = corp();
    world.accept("p1", &json!({"cordoned": true}));
    world.annotate("p1/all", true, false);
    assert_eq!(world.settle(&web()).state, State::Served);
    assert!(world.condition(&web(), "Moving").unwrap().starts_with("False/NoProvider"));
    world.assert_steady(&web());
}

#[test]
fn a_provider_that_is_taken_out_is_given_a_grace_and_its_leftovers_go_when_it_returns() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    let p1 = ClusterName::provider("p1");
    let gone = world.servers.remove(&p1).unwrap();
    let acceptances = std::mem::take(&mut world.acceptances);
    world.acceptances = acceptances.into_iter().filter(|(name, _)| name.starts_with("p2")).collect();
    assert_eq!(world.pass(&web()).state, State::Blocked, "nobody knows yet whether it has left");
    world.moves.left.insert(p1.clone(), world.millis);
    world.pass(&web());
    assert_eq!(assigned(&world), "p1");
    world.millis += 60_000;
    world.settle(&web());
    assert_eq!(assigned(&world), "p2");
    world.moves.left.clear();
    world.servers.insert(p1, gone);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some(), "its successor is not ready");
    world.provider_status("p2", &web(), ready("new"));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert_eq!(phase(&world), "new");
}

#[test]
fn a_provider_that_is_only_unreachable_moves_nothing_unless_it_says_after_how_long() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.accept("p1", &json!({"unreachableAfterSeconds": 30}));
    let down = world.millis;
    world.provider("p1").reach = Reach::Unreachable("down".into());
    world.provider("p1").silent_since = Some(down);
    let decision = world.pass(&web());
    assert_eq!((decision.state, decision.again.map(|wait| wait.as_secs())), (State::Blocked, Some(30)));
    world.millis = down + 30_000;
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");
    world.provider("p1").reach = Reach::Ready;
    world.provider("p1").silent_since = None;
    world.settle_served(&web());
    assert!(world.copy("p1", &web()).is_none());

    let mut world = corp();
    world.accept("p2", &json!({}));
    world.provider("p1").reach = Reach::Unreachable("down".into());
    world.provider("p1").silent_since = Some(0);
    world.settle(&web());
    assert_eq!(assigned(&world), "p1");
}

#[test]
fn a_copy_that_a_cache_has_lost_is_asked_for_before_its_object_is_placed_elsewhere() {
    let mut world = corp();
    rename(&mut world, "a.com");
    // What was listed was old.
    let mut stale = world.provider("p1").objects.clone();
    stale.remove(&World::copy_at(&web()));
    world.provider("p1").stale = Some(stale);
    let asked = world.decide(&web(), None);
    assert!(matches!(&asked.steps[..], [Step::Confirm(object)] if object.cluster.name() == "p1"), "{asked:#?}");
    assert_eq!((asked.state, world.assert_holds_still(&web())), (State::Unknown, State::Unknown));
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
    world.provider("p1").stale = None;
    world.provider("p1").delete(&World::copy_at(&web()));
    world.settle(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null), "it has gone indeed");
}

#[test]
fn so_many_move_at_once() {
    let mut world = corp();
    world.moves.most = 1;
    let other = key("homer", "other");
    world.create(&other, json!({"fqdn": "b.corp"}));
    world.settle_served(&other);
    for key in [&web(), &other] {
        world.edit(key, |origin| origin["spec"]["fqdn"] = json!("x.com"));
    }
    begin(&mut world);
    world.pass(&other);
    assert_eq!(world.settle(&other).state, State::NotAccepted);
    assert!(world.condition(&other, "Moving").unwrap().starts_with("False/WaitingForTurn"));
    assert!(world.copy("p2", &other).is_none());
    world.settle_served(&web());
    world.settle_served(&other);
    assert!(world.copy("p1", &other).is_none() && world.copy("p2", &other).is_some());
}

#[test]
fn what_is_not_known_moves_nothing() {
    for unknown in ["migrations", "configurations"] {
        let mut world = corp();
        match unknown {
            "migrations" => world.moves.migrations_known = false,
            _ => world.moves.configured = Configured::Unknown,
        }
        rename(&mut world, "a.com");
        for _ in 0..5 {
            world.pass(&web());
        }
        assert_eq!(next(&world), Value::Null, "{unknown}");
        assert!(world.copy("p2", &web()).is_none(), "{unknown}");
    }
}

#[test]
fn an_object_that_is_deleted_while_it_moves_takes_both_copies_along() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.delete(&web());
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
    assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_none());
}

#[test]
fn nobody_gets_past_a_move_by_taking_its_marks_away() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.restart();
    for _ in 0..4 {
        world.pass(&web());
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), json!("p2")));
    assert!(world.copy("p1", &web()).is_some());
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn related_resources_switch_without_a_gap() {
    let mut world = corp();
    let (p1, p2, homer) = (ClusterName::provider("p1"), ClusterName::provider("p2"), ClusterName::consumer("homer"));
    let related = |name: &str, phase: &str| {
        let mut status = ready(phase);
        status["relatedResources"] =
            json!({"tls": {"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": name}});
        status
    };
    world.put_secret(&p1, "web-old", json!({"metadata": {}, "data": {"a": "MQ=="}}));
    world.provider_status("p1", &web(), related("web-old", "old"));
    world.settle(&web());
    assert!(world.secret(&homer, "web-old").is_some());
    rename(&mut world, "a.com");
    begin(&mut world);
    // The copy is ready, but what it lists is not there yet.
    world.provider_status("p2", &web(), related("web-new", "new"));
    world.settle_briefly(&web());
    assert!(world.copy("p1", &web()).is_some());
    world.put_secret(&p2, "web-new", json!({"metadata": {}, "data": {"a": "Mg=="}}));
    for _ in 0..12 {
        let held = [world.secret(&homer, "web-old"), world.secret(&homer, "web-new")];
        assert!(held.iter().any(Option::is_some));
        if world.copy("p1", &web()).is_none() {
            assert!(held[1].is_some(), "the old copy has gone before the new Secret was there");
        }
        world.pass(&web());
    }
    world.settle(&web());
    assert!(world.secret(&homer, "web-old").is_none() && world.secret(&homer, "web-new").is_some());
    world.assert_steady(&web());
}

#[test]
fn a_name_that_is_taken_at_the_target_sends_the_object_elsewhere() {
    let mut world = corp();
    rename(&mut world, "a.com");
    let at = World::copy_at(&web());
    world.provider("p2").put(&at, json!({"metadata": {}, "spec": {"fqdn": "squatter"}}));
    world.settle(&web());
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "squatter");
    assert!(world.copy("p1", &web()).is_some());
    assert!(!world.log.iter().any(|write| matches!(write.op, Op::Delete { .. })));
}

#[test]
fn a_deletion_waits_for_both_providers_of_a_move() {
    for unknown in ["p1", "p2"] {
        let mut world = corp();
        rename(&mut world, "a.com");
        begin(&mut world);
        world.provider(unknown).listed = false;
        world.delete(&web());
        world.settle(&web());
        assert!(world.origin(&web()).is_some(), "it is not known whether {unknown} holds a copy");
        world.provider(unknown).listed = true;
        world.settle(&web());
        assert!(world.origin(&web()).is_none());
        assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_none());
    }
}
