//! Instances that are children of instances.

use broker_api::graphs::keys;
use graphs_core::instance::{DEEPEST, TOO_DEEP};
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
