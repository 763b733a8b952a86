//! Finalizers and replays of a provider's: who holds what is told, and nobody else waits for it.

use broker_api::{ClusterName, keys};
use broker_core::decision::State;
use serde_json::{Value, json};

use crate::decide::{
    moves::{begin, corp, next, ready, rename},
    world::{At, World, web},
};

fn hold(world: &mut World, provider: &str, finalizers: &Value) {
    world.edit_copy(provider, &web(), |copy| copy["metadata"]["finalizers"] = finalizers.clone());
}

/// `web`, made anew, while p1 has put back, with a finalizer, the copy that it held of an earlier one.
fn replayed(providers: &[&str]) -> World {
    let mut world = World::new(providers);
    world.accept("p1", &json!({"priority": 1}));
    world.create(&web(), json!({"fqdn": "a.corp"}));
    world.settle(&web());
    let saved = world.copy("p1", &web()).unwrap().clone();
    world.delete(&web());
    world.settle(&web());
    let at: At = World::copy_at(&web());
    let metadata = &saved["metadata"];
    let again = json!({
        "metadata": {"labels": metadata["labels"], "annotations": metadata["annotations"], "finalizers": ["theirs/one"]},
        "spec": saved["spec"],
    });
    world.provider("p1").put(&at, again);
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world
}

#[test]
fn a_deletion_that_a_provider_holds_says_who_after_a_moment() {
    let mut world = World::served();
    hold(&mut world, "p1", &json!(["theirs/one", "theirs/two"]));
    world.delete(&web());
    world.settle_briefly(&web());
    assert_eq!(world.condition(&web(), "Brokered").unwrap().split(':').next(), Some("True/Placed"), "not yet");
    world.oddities.asked = true;
    let told = world.look(&web()).notes;
    assert!(matches!(&told[..], [one] if one.reason == "HeldByProvider"), "a person who asks does not wait: {told:?}");
    world.oddities.asked = false;
    world.settle(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/HeldByProvider") && told.contains("provider p1"), "{told}");
    assert!(told.contains("finalizers theirs/one, theirs/two") && told.contains(keys::FORCE_DELETE), "{told}");
    world.assert_steady(&web());
}

#[test]
fn a_deletion_that_takes_a_moment_is_not_worth_a_word() {
    let mut world = World::served();
    hold(&mut world, "p1", &json!(["theirs/one"]));
    world.delete(&web());
    world.settle_briefly(&web());
    hold(&mut world, "p1", &json!([]));
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
    assert!(!world.writes().iter().any(|write| write.starts_with("status")), "{:?}", world.writes());
}

#[test]
fn force_delete_releases_what_a_provider_holds_and_says_what_is_left() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true"));
    hold(&mut world, "p1", &json!(["theirs/one"]));
    world.delete(&web());
    let decision = world.settle_briefly(&web());
    assert!(world.origin(&web()).is_some() && decision.again.is_some(), "the provider has a moment for it");
    world.millis += 5_000;
    let decision = world.pass(&web());
    let told = decision.notes.iter().find(|note| note.reason == "ForceDeleted").unwrap();
    assert!(told.message.contains("p1") && told.message.contains("theirs/one"), "{}", told.message);
    assert!(world.origin(&web()).is_none());
    assert!(world.copy("p1", &web()).is_some());
    world.settle(&web());
    hold(&mut world, "p1", &json!([]));
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn what_a_provider_calls_its_finalizers_is_bounded() {
    let mut world = World::served();
    let many: Vec<String> = (0..1000).map(|index| format!("theirs/{}-{index}", "x".repeat(500))).collect();
    hold(&mut world, "p1", &json!(many));
    world.delete(&web());
    world.settle(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.contains("1000 finalizers, among them theirs/xxx") && told.len() < 1200, "{}", told.len());
}

#[test]
fn a_saved_copy_put_back_blocks_its_own_provider_only() {
    let mut world = replayed(&["p1", "p2"]);
    world.accept("p2", &json!({}));
    world.settle_briefly(&web());
    assert!(world.copy("p2", &web()).is_none(), "it may be gone in a moment");
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Served);
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "new.corp");
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp", "theirs to release");
    let told = decision.notes.iter().find(|note| note.reason == "HeldByProvider").unwrap();
    assert!(told.message.contains("provider p1") && told.message.contains("theirs/one"), "{}", told.message);
    assert_eq!(told.also, Some(ClusterName::provider("p1")));
    // It was asked to go once, and no more.
    let deletions = world.writes().iter().filter(|write| write.starts_with("delete p1")).count();
    assert_eq!(deletions, 2, "that of the first object and this one: {:?}", world.writes());
    world.assert_steady(&web());
}

#[test]
fn where_nobody_else_takes_it_the_object_says_who_holds_its_place() {
    let mut world = replayed(&["p1"]);
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Waiting);
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/HeldByProvider") && told.contains("theirs/one"), "{told}");
    world.assert_steady(&web());
    hold(&mut world, "p1", &json!([]));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "new.corp");
}

#[test]
fn a_saved_copy_in_the_place_of_a_served_one_sends_the_object_elsewhere() {
    let mut world = replayed(&["p1", "p2"]);
    let saved = world.copy("p1", &web()).unwrap().clone();
    hold(&mut world, "p1", &json!([]));
    world.provider("p1").delete(&World::copy_at(&web()));
    world.settle_served(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "new.corp");
    // Its provider exchanges the copy for the saved one.
    world.provider("p1").objects.remove(&World::copy_at(&web()));
    let metadata = json!({"annotations": saved["metadata"]["annotations"], "finalizers": ["theirs/one"]});
    world.provider("p1").put(&World::copy_at(&web()), json!({"metadata": metadata, "spec": {}}));
    assert_eq!(world.settle_briefly(&web()).state, State::Placing, "it may be gone in a moment");
    world.settle(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/HeldByProvider") && told.contains("theirs/one"), "{told}");
    world.accept("p2", &json!({}));
    world.settle(&web());
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "new.corp");
}

#[test]
fn a_saved_copy_elsewhere_disturbs_nothing_that_is_served() {
    let mut world = replayed(&["p1", "p2"]);
    world.accept("p2", &json!({}));
    world.settle_served(&web());
    world.log.clear();
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("newer.corp"));
    world.settle(&web());
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "newer.corp");
    assert!(world.writes().iter().all(|write| write.contains("p2/") || write.contains("homer/")));
}

#[test]
fn a_move_whose_old_copy_does_not_go_says_who_holds_it() {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    hold(&mut world, "p1", &json!(["theirs/one"]));
    world.provider_status("p2", &web(), ready("new"));
    world.settle(&web());
    assert_eq!(next(&world), "p2");
    let told = world.condition(&web(), "Moving").unwrap();
    assert!(told.contains("theirs/one") && told.contains("provider p1"), "{told}");
    hold(&mut world, "p1", &json!([]));
    world.settle(&web());
    assert_eq!(next(&world), Value::Null);
}
