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
