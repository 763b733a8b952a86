//! INVARIANTS, attacks A4 to A8, A12 and A16: expected results.

use broker_api::{ClusterName, keys};
use broker_core::decision::State;
use serde_json::{Value, json};

use crate::decide::world::{World, key, ring, web};

fn told(world: &mut World, reason: &str) -> bool {
    world.look(&web()).notes.iter().any(|note| note.reason == reason && note.warning)
}

fn annotations(world: &World) -> Value {
    world.origin(&web()).unwrap()["metadata"]["annotations"].clone()
}

#[test]
fn a4_forged_annotations_are_ignored_and_told() {
    let mut world = World::with_origin();
    world.engage(ClusterName::provider("p2"));
    world.edit(&web(), |origin| {
        origin["metadata"]["annotations"] = json!({keys::PROVIDER_CLUSTER: "p2", keys::ASSIGNMENT: "v1.first.99.abc"});
        origin["metadata"]["finalizers"] = json!([keys::FINALIZER]);
    });
    assert!(told(&mut world, "AssignmentIgnored"));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some(), "placed by who accepts it");
    assert!(world.copy("p2", &web()).is_none());
    assert_eq!(annotations(&world)[keys::PROVIDER_CLUSTER], "p1");
}

#[test]
fn a4_a_forged_move_is_ignored_told_and_removed() {
    for placed in [true, false] {
        let mut world = if placed { World::served() } else { World::with_origin() };
        world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::NEW_PROVIDER_CLUSTER] = json!("p9"));
        assert!(told(&mut world, "AssignmentIgnored"), "placed: {placed}");
        world.settle(&web());
        assert_eq!(annotations(&world).get(keys::NEW_PROVIDER_CLUSTER), None);
        assert_eq!(world.origin(&web()).unwrap()["metadata"]["annotations"][keys::PROVIDER_CLUSTER], "p1");
        assert!(world.copy("p1", &web()).is_some());
        world.assert_steady(&web());
    }
}

#[test]
fn a4_an_edit_of_the_provider_annotation_moves_and_deletes_nothing() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({}));
    let before = world.copy("p1", &web()).cloned();
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER] = json!("p2"));
    assert!(told(&mut world, "AssignmentIgnored"));
    world.settle(&web());
    assert_eq!(world.writes(), ["patch homer/web"]);
    assert_eq!(world.copy("p1", &web()), before.as_ref());
    assert_eq!(annotations(&world)[keys::PROVIDER_CLUSTER], "p1");
}

#[test]
fn a4_a_signature_of_another_object_or_of_another_broker_counts_for_nothing() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    world.create(&key("homer", "other"), json!({}));
    world.settle_all();
    let theirs = world.origin(&key("homer", "other")).unwrap()["metadata"]["annotations"].clone();
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = theirs);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
    assert!(world.copy("p2", &web()).is_none());
    world.ring = ring("second");
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Served, "applied by our manager and naming this uid: ours, to be signed anew");
}

/// `web` at p2, with the once valid annotations of its time at p1.
fn moved_from_p1() -> (World, Value) {
    let mut world = World::served();
    let old = annotations(&world);
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    world.provider("p1").delete(&World::copy_at(&web()));
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.millis += 1000;
    world.settle(&web());
    assert!(world.copy("p2", &web()).is_some());
    (world, old)
}

#[test]
fn a16_an_older_assignment_put_back_loses_against_the_copy() {
    let (mut world, old) = moved_from_p1();
    world.log.clear();
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = old);
    world.restart();
    assert!(told(&mut world, "AssignmentIgnored"));
    world.settle(&web());
    assert_eq!(world.writes(), ["patch homer/web"], "only the annotations are put right");
    assert_eq!(annotations(&world)[keys::PROVIDER_CLUSTER], "p2");
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn a16_an_older_assignment_to_the_same_provider_does_not_lower_the_copys_epoch() {
    let (mut world, old_p1) = moved_from_p1();
    let old_p2 = annotations(&world);
    // Back to p1, with the newest epoch.
    world.provider("p2").delete(&World::copy_at(&web()));
    world.accept("p1", &json!({"priority": 99}));
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.millis += 1000;
    world.settle(&web());
    let epoch = world.signed("p1", &web()).unwrap().epoch;
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = old_p1);
    world.settle(&web());
    assert_eq!(world.signed("p1", &web()).unwrap().epoch, epoch);
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = old_p2);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
    assert!(world.copy("p2", &web()).is_none(), "two steps back do not steer either");
}

#[test]
fn a16_a_copy_that_is_being_deleted_still_counts_against_an_older_assignment() {
    let (mut world, old) = moved_from_p1();
    world.edit_copy("p2", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.provider("p2").delete(&World::copy_at(&web()));
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = old);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert_eq!(annotations(&world)[keys::PROVIDER_CLUSTER], "p2");
}

#[test]
fn a5_an_origin_forged_by_a_provider_harms_nobody() {
    let mut world = World::served();
    world.engage(ClusterName::provider("evil"));
    world.engage(ClusterName::consumer("marge"));
    let victim = key("marge", "web");
    world.create(&victim, json!({"fqdn": "m.corp"}));
    world.settle_all();
    world.provider_status("p1", &victim, json!({"phase": "Good"}));
    world.settle_all();
    let uid = world.origin(&victim).unwrap()["metadata"]["uid"].clone();
    // The provider knows all marks of another's copy, and shows them as its own.
    let stolen = world.copy("p1", &victim).unwrap()["metadata"]["annotations"].clone();
    let mut forged = stolen.clone();
    forged[keys::CONSUMER_UID] = uid;
    for annotations in [stolen, forged] {
        let value = json!({"metadata": {"annotations": annotations, "labels": {keys::MANAGED_BY: keys::MANAGER}},
            "spec": {}, "status": {"phase": "Evil"}});
        world.provider("evil").put(&World::copy_at(&victim), value);
        for (key, phase) in [(&victim, "Good"), (&web(), "Up")] {
            world.settle(key);
            assert_eq!(world.origin(key).unwrap()["status"]["phase"], phase);
            assert!(world.copy("p1", key).is_some());
            world.assert_steady(key);
        }
        assert!(world.copy("evil", &victim).is_some(), "not ours to delete");
        world.delete(&web());
        world.settle(&web());
        world.create(&web(), json!({"fqdn": "a"}));
        world.settle(&web());
        world.provider_status("p1", &web(), json!({"phase": "Up"}));
        world.settle(&web());
    }
}

#[test]
fn a12_an_object_that_has_the_copys_name_is_never_touched_and_both_sides_are_told() {
    let other = json!({"metadata": {"labels": {"theirs": "1"}}, "spec": {"fqdn": "theirs"}});
    let squatters = [other.clone(), {
        let mut claims = other.clone();
        claims["metadata"]["annotations"] = json!({keys::CONSUMER_UID: "someone", keys::ORIGIN: "v1.x.1.00.y"});
        claims["metadata"]["labels"][keys::MANAGED_BY] = json!(keys::MANAGER);
        claims
    }];
    for squatter in squatters {
        let mut world = World::with_origin();
        world.provider("p1").put(&World::copy_at(&web()), squatter);
        let before = world.copy("p1", &web()).cloned();
        let decision = world.settle(&web());
        assert_eq!(decision.state, State::Blocked);
        assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/NameConflict"));
        let note = decision.notes.iter().find(|note| note.reason == "NameConflict").unwrap();
        assert_eq!(note.also, Some(ClusterName::provider("p1")));
        world.assert_steady(&web());
        world.delete(&web());
        world.settle(&web());
        assert!(world.origin(&web()).is_none());
        assert_eq!(world.copy("p1", &web()), before.as_ref());
    }
}

#[test]
fn a12_once_the_other_object_is_gone_the_copy_is_made() {
    let mut world = World::with_origin();
    world.provider("p1").put(&World::copy_at(&web()), json!({"metadata": {}, "spec": {}}));
    world.settle(&web());
    world.provider("p1").delete(&World::copy_at(&web()));
    assert_eq!(world.settle(&web()).state, State::Served);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/"));
}
