//! Which revisions go.

use graphs_core::definition::Subject;
use serde_json::{Value, json};

use crate::definition::world::*;

fn numbered(number: usize) -> Value {
    spec(&["name"], &[resource(&format!("r{number}"), &[])])
}

fn edited(world: &mut World, times: usize) {
    for number in 0..times {
        world.edit(numbered(number));
        world.run();
    }
}

#[test]
fn the_newest_five_stay_and_the_oldest_goes_with_each_edit() {
    let mut world = World::settled(&plain());
    edited(&mut world, 4);
    assert_eq!(world.numbers(), [1, 2, 3, 4, 5]);
    world.edit(other());
    world.run();
    assert_eq!(world.numbers(), [2, 3, 4, 5, 6]);
}

#[test]
fn the_flag_says_how_many_and_one_stays_always() {
    for (most, wanted) in [(1, vec![4]), (0, vec![4]), (2, vec![3, 4]), (9, vec![1, 2, 3, 4])] {
        let mut world = World::settled(&plain());
        world.max_revisions = most;
        edited(&mut world, 3);
        assert_eq!(world.numbers(), wanted, "{most}");
    }
}

#[test]
fn the_one_that_serves_stays_whatever_its_age() {
    // Every edit breaks the schema, so that the CRD stays as it was for the first.
    let mut world = World::settled(&plain());
    world.max_revisions = 2;
    for field in ["b", "c", "d"] {
        world.edit(spec(&[field], &[]));
        world.run();
    }
    assert_eq!((world.numbers(), world.served), (vec![1, 3, 4], Some(1)));
    assert!(!is_deleting(&world.revisions["web-r00001"]));
    world.restart();
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1, 3, 4], Some(1)));
}

#[test]
fn the_newest_that_compiles_stays_even_while_nothing_serves() {
    let mut world = World::settled(&plain());
    world.max_revisions = 1;
    world.later = true;
    world.edit(spec(&["name"], &[later("x")]));
    // The second is issued; before the first is collected its kind vanishes.
    world.step(usize::MAX);
    world.later = false;
    world.crd = None;
    world.applied = None;
    world.establishes = false;
    world.restart();
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1, 2], None));
}

#[test]
fn nothing_is_collected_before_it_is_known_what_serves() {
    let mut world = World::settled(&plain());
    edited(&mut world, 3);
    world.max_revisions = 1;
    world.blind.crd = true;
    world.run();
    assert_eq!(world.numbers(), [1, 2, 3, 4]);
    world.blind.crd = false;
    world.run();
    assert_eq!(world.numbers(), [4]);
}

fn delete(world: &mut World, name: &str) {
    world.revisions.get_mut(name).unwrap()["metadata"]["deletionTimestamp"] = json!("now");
}

#[test]
fn one_deleted_by_hand_goes_once_another_serves() {
    let mut world = World::settled(&plain());
    delete(&mut world, "web-r00001");
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![2], Some(2)));
}

#[test]
fn one_deleted_by_hand_serves_on_while_no_other_can() {
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    delete(&mut world, "web-r00001");
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1], Some(1)));
}

#[test]
fn one_does_not_go_before_its_number_is_recorded() {
    let mut world = World::of(&plain());
    world.step(3);
    delete(&mut world, "web-r00001");
    world.edit(invalid());
    world.run();
    assert_eq!(world.status()["lastIssuedRevision"], 1);
    world.edit(other());
    world.run();
    assert_eq!(world.numbers(), [2], "a number is never issued twice");
}

#[test]
fn one_whose_number_is_not_recorded_is_held() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.run();
    world.change_rgd(|rgd| rgd["status"]["lastIssuedRevision"] = json!(null));
    delete(&mut world, "web-r00001");
    let ends = |world: &World| world.decide().writes.iter().any(|write| write.subject == Subject::RevisionEnd);
    assert!(!ends(&world));
    world.step(usize::MAX);
    assert!(ends(&world));
}

#[test]
fn the_newest_goes_too_when_another_serves() {
    let mut world = World::settled(&plain());
    world.later = true;
    world.edit(spec(&["name"], &[later("x")]));
    world.run();
    world.later = false;
    world.restart();
    world.run();
    delete(&mut world, "web-r00002");
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1], Some(1)));
}

#[test]
fn other_finalizers_of_a_revision_stay() {
    let mut world = World::settled(&plain());
    let object = world.revisions.get_mut("web-r00001").unwrap();
    object["metadata"]["finalizers"] = json!(["a/b", "kro.run/finalizer"]);
    delete(&mut world, "web-r00001");
    world.run();
    assert_eq!(world.revisions["web-r00001"]["metadata"]["finalizers"], json!(["a/b"]));
}

#[test]
fn one_that_a_cluster_runs_stays() {
    let mut world = World::settled(&plain());
    world.max_revisions = 1;
    world.kept = None;
    edited(&mut world, 3);
    assert_eq!(world.numbers(), [1, 2, 3, 4], "nobody knows what is run");
    world.kept = Some(vec![2]);
    world.run();
    assert_eq!(world.numbers(), [2, 4]);
    world.kept = Some(Vec::new());
    world.run();
    assert_eq!(world.numbers(), [4]);
}
