//! What the platform lets providers do, and what an AcceptAPI says of namespaces and room.

use std::sync::Arc;

use broker_core::{
    decision::State,
    policy::{Policy, PolicyDocument},
};
use serde_json::{Value, json};

use crate::decide::world::{World, web};

fn bound(world: &mut World, id: &str, policy: Policy) {
    let held = world.acceptances.get_mut(id).unwrap();
    *held = Arc::new((**held).clone().bounded(&Arc::new(policy)));
}

fn written(document: Value) -> Policy {
    Policy::written(&serde_json::from_value::<PolicyDocument>(document).unwrap())
}

#[test]
fn nothing_new_comes_while_the_bounds_cannot_be_read_and_what_is_there_stays() {
    let mut world = World::served();
    bound(&mut world, "p1/all", Policy::unreadable("no YAML"));
    assert_eq!(world.assert_holds_still(&web()), State::Served);

    let mut world = World::with_origin();
    bound(&mut world, "p1/all", Policy::unreadable("no YAML"));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.contains("NoProvider") && told.contains("policy"), "{told}");
}

#[test]
fn an_object_leaves_a_provider_that_may_not_serve_it_any_more() {
    for document in [json!({"serves": []}), json!({"consumers": "tier=gold"})] {
        let mut world = World::new(&["p1", "p2"]);
        world.accept("p1", &json!({"priority": 1}));
        world.accept("p2", &json!({}));
        world.create(&web(), json!({"fqdn": "a.corp"}));
        world.settle_served(&web());
        assert!(world.copy("p1", &web()).is_some());
        bound(&mut world, "p1/all", written(document));
        world.settle_served(&web());
        assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_some());
    }
}

#[test]
fn a_namespace_that_nobody_takes_is_told() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({"namespaces": {"deny": ["te*"]}}));
    world.create(&web(), json!({"fqdn": "a.corp"}));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.contains("namespace \"team\" is denied (namespaces.deny: te*)"), "{told}");
}

#[test]
fn room_that_is_not_known_is_waited_for_and_nobody_is_told_of_none() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({"capacity": 5}));
    world.create(&web(), json!({"fqdn": "a.corp"}));
    world.unseen = Some("p1");
    assert_eq!(world.assert_holds_still(&web()), State::Unknown);
    world.unseen = None;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
}
