//! Marks that are stripped, corrupted or doubled are put right.

use broker_api::{ClusterName, keys};
use broker_core::decision::State;
use runtime_effect::reach::Reach;
use serde_json::json;

use crate::decide::world::{World, web};

#[test]
fn marks_stripped_from_the_origin_are_read_from_the_copy() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    let before = world.origin(&web()).unwrap()["metadata"]["annotations"].clone();
    world.edit(&web(), |origin| {
        origin["metadata"]["annotations"] = json!({});
        origin["metadata"]["finalizers"] = json!([]);
    });
    world.restart();
    world.settle(&web());
    assert_eq!(world.writes(), ["patch homer/web"]);
    let metadata = &world.origin(&web()).unwrap()["metadata"];
    assert_eq!(metadata["annotations"], before);
    assert_eq!(metadata["finalizers"], json!([keys::FINALIZER]));
    assert!(world.copy("p2", &web()).is_none());
}

#[test]
fn a_finalizer_alone_that_was_stripped_comes_back() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([]));
    world.settle(&web());
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["finalizers"], json!([keys::FINALIZER]));
    world.assert_steady(&web());
}

type Spoil = fn(&mut serde_json::Value);

/// Everything that may be done to the marks of a copy.
fn spoilt() -> Vec<(&'static str, Spoil)> {
    vec![
        ("all gone", |copy| {
            copy["metadata"]["annotations"] = json!({});
            copy["metadata"]["labels"] = json!({});
        }),
        ("signature gone", |copy| {
            copy["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::ORIGIN);
        }),
        ("signature spoilt", |copy| copy["metadata"]["annotations"][keys::ORIGIN] = json!("v1.first.1.00.x")),
        ("label spoilt", |copy| copy["metadata"]["labels"][keys::MANAGED_BY] = json!("me")),
        ("name spoilt", |copy| copy["metadata"]["annotations"][keys::CONSUMER_NAME] = json!("other")),
        ("uid spoilt", |copy| copy["metadata"]["annotations"][keys::CONSUMER_UID] = json!("other")),
    ]
}

#[test]
fn marks_of_a_copy_are_restored_in_one_write_with_and_without_memory() {
    for remembered in [true, false] {
        for (what, spoil) in spoilt() {
            let mut world = World::served();
            let before = world.copy("p1", &web()).unwrap()["metadata"].clone();
            world.edit_copy("p1", &web(), spoil);
            if !remembered {
                world.restart();
            }
            assert_eq!(world.settle(&web()).state, State::Served, "{what}");
            assert_eq!(world.writes(), [format!("apply p1/{}", World::copy_at(&web()).2)], "{what}");
            let after = &world.copy("p1", &web()).unwrap()["metadata"];
            assert_eq!(after["annotations"], before["annotations"], "{what}");
            assert_eq!(after["labels"], before["labels"], "{what}");
            world.assert_steady(&web());
        }
    }
}

#[test]
fn a_foreign_edit_of_the_spec_is_put_right() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert_eq!(world.log.len(), 1);
}

/// A copy of `web`, as p1 has it, at p2.
fn beside() -> World {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    let stored = world.provider("p1").objects.stored(&World::copy_at(&web())).unwrap().clone();
    world.provider("p2").objects.restore(World::copy_at(&web()), stored);
    world
}

#[test]
fn what_only_looks_like_a_copy_stays_where_the_object_is_not_assigned_to() {
    let mut world = beside();
    world.edit_copy("p2", &web(), |copy| {
        copy["metadata"]["annotations"] = json!({});
        copy["metadata"]["labels"] = json!({});
    });
    world.restart();
    world.settle(&web());
    assert!(world.copy("p2", &web()).is_some());
}

/// Nothing refers to it.
#[test]
fn a_second_copy_of_the_same_assignment_goes_though_it_is_ready_and_the_first_is_not() {
    let mut world = beside();
    let uid = world.origin(&web()).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let seal = world.signed("p1", &web()).unwrap();
    let signature = world.ring.sign_origin(&web().subject(&uid), "p2", &seal);
    world.edit_copy("p2", &web(), |copy| copy["metadata"]["annotations"][keys::ORIGIN] = json!(signature));
    world.serve("p2", &web());
    assert_eq!(world.signed("p2", &web()), Some(seal));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some() && world.copy("p2", &web()).is_none());
}

/// Another broker writes under the same name as we do.
#[test]
fn what_another_broker_has_marked_is_not_taken_for_a_copy_that_lost_its_marks() {
    for left in [keys::CONSUMER_UID, keys::ORIGIN] {
        let mut world = World::served();
        world.edit_copy("p1", &web(), |copy| copy["metadata"]["annotations"] = json!({left: "theirs"}));
        world.restart();
        let before = world.copy("p1", &web()).cloned();
        assert_eq!(world.settle(&web()).state, State::Blocked, "{left}");
        assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/NameConflict"), "{left}");
        assert_eq!(world.copy("p1", &web()), before.as_ref(), "{left}");
    }
}

/// The object `web` served by p1 and, by a copy of its own, also by p2: as two brokers or a partition leave it.
fn doubled() -> World {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept_no_more("p1");
    world.accept("p2", &json!({}));
    let first = world.servers.remove(&ClusterName::provider("p1")).unwrap();
    world.edit(&web(), |origin| {
        origin["metadata"]["annotations"] = json!({});
        origin["metadata"]["finalizers"] = json!([]);
    });
    world.millis += 10;
    world.settle(&web());
    assert!(world.copy("p2", &web()).is_some());
    world.servers.insert(ClusterName::provider("p1"), first);
    world.accept("p1", &json!({}));
    world
}

#[test]
fn of_two_copies_the_one_of_the_newer_assignment_remains() {
    let mut world = doubled();
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert!(world.copy("p2", &web()).is_some());
    world.assert_steady(&web());
}

#[test]
fn of_two_copies_one_remains_also_without_annotations() {
    let mut world = doubled();
    world.serve("p2", &web());
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.restart();
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert!(world.copy("p2", &web()).is_some());
}

#[test]
fn a_copy_of_an_older_assignment_stays_until_its_successor_is_there() {
    let mut world = doubled();
    world.provider("p2").delete(&World::copy_at(&web()));
    world.provider("p2").reach = Reach::Unreachable("down".into());
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
    world.provider("p2").reach = Reach::Ready;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert!(world.copy("p2", &web()).is_some());
}

#[test]
fn stripped_on_both_sides_the_broker_that_wrote_the_copy_still_knows_it() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["annotations"] = json!({}));
    world.edit(&web(), |origin| {
        origin["metadata"]["annotations"] = json!({});
        origin["metadata"]["finalizers"] = json!([]);
    });
    world.settle(&web());
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["annotations"][keys::PROVIDER_CLUSTER], "p1");
    assert!(world.signed("p1", &web()).is_some());
    assert!(world.copy("p2", &web()).is_none());
    world.assert_steady(&web());
}
