//! Instances that are children of instances.

use broker_api::graphs::keys;
use graphs_core::instance::{DEEPEST, TOO_DEEP, adopting, is_too_deep};
use runtime_effect::write::Op;
use serde_json::{Value, json};

use crate::instance::{server::key, toy::one, world::World};

fn nested(marks: &Value) -> World {
    let mut world = World::new(vec![one("a", &[], 1)]);
    let annotations = marks.clone();
    world.server.edit(&key("Web", "default", "web"), |object| {
        object["metadata"]["labels"] = json!({keys::INSTANCE_ID: "somebody"});
        object["metadata"]["annotations"] = annotations;
    });
    world
}

#[test]
fn children_of_children_say_how_deep_they_are() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    assert!(world.child("web-a")["metadata"]["annotations"].get(keys::NESTING).is_none());
    for (marks, depth) in [(json!({}), "2"), (json!({keys::NESTING: "3"}), "4"), (json!({keys::NESTING: "-7"}), "2")] {
        let mut world = nested(&marks);
        world.turn();
        assert_eq!(world.child("web-a")["metadata"]["annotations"][keys::NESTING], depth, "{marks}");
    }
}

#[test]
fn how_deep_they_are_is_no_reason_to_write() {
    let mut world = nested(&json!({keys::NESTING: "3"}));
    world.turn();
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| {
        object["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::NESTING);
    });
    assert!(world.writes().is_empty());
}

#[test]
fn what_is_said_of_the_bound_is_so() {
    assert!(TOO_DEEP.contains(&format!("{DEEPEST} times")));
}

#[test]
fn nothing_is_made_of_one_that_is_as_deep_as_may_be() {
    let is = |world: &World| is_too_deep(&world.server.view(&world.at()).unwrap());
    let depths = ["15", "16", "17", "x"];
    assert_eq!(depths.map(|depth| is(&nested(&json!({keys::NESTING: depth})))), [false, true, true, false]);
    let mut world = World::new(vec![]);
    world.annotate(keys::NESTING, "16");
    assert!(!is(&world), "a person has made it");
}

/// Whoever creates it learns that it is there, and adopts it without asking for another decision.
#[test]
fn what_is_adopted_at_once_is_as_a_later_decision_wants_it() {
    let mut world = nested(&json!({keys::NESTING: "3"}));
    let first = world.decide();
    world.server.send(&first.writes[0]).unwrap();
    let create = world.decide().writes.swap_remove(0);
    let Op::Create(body) = create.op else { panic!("{create:?}") };
    let adopted = adopting(body.clone());
    let (marks, annotations) = (&adopted["metadata"]["labels"], &adopted["metadata"]["annotations"]);
    assert_eq!((marks, &adopted["data"]), (&body["metadata"]["labels"], &body["data"]));
    assert_eq!((&annotations[keys::ADOPTED], &annotations[keys::NESTING]), (&json!("true"), &json!("4")));
    world.server.put(key("ConfigMap", "default", "web-a"), adopted);
    assert_eq!(world.writes(), ["status web"]);
}
