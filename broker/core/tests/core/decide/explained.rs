//! What a person is told who asks why an object is where it is.

use broker_api::ClusterName;
use broker_core::decide::Answer;
use serde_json::json;

use crate::decide::world::{DEEP, World, web};

/// Each AcceptAPI as `provider/name`, and in a word what it says.
fn told(world: &mut World) -> Vec<String> {
    world.oddities.asked = true;
    world.look(&web());
    let said = |answer: &Answer| match answer {
        Answer::Accepts => "accepts",
        Answer::Refuses(_) => "refuses",
        Answer::CannotTake(_) => "cannot take it",
        Answer::Unknown(_) => "unknown",
    };
    let told = world.oddities.told.borrow();
    told.iter().map(|one| format!("{}/{} {}", one.id.provider.name(), one.id.name, said(&one.answer))).collect()
}

#[test]
fn who_may_get_it_comes_first_the_best_of_each_provider_before_its_others() {
    let mut world = World::with_origin();
    for provider in ["p2", "p3", "p4"] {
        world.engage(ClusterName::provider(provider));
    }
    world.accept_as("p1", "best", &json!({"priority": 5}));
    world.accept("p2", &json!({"priority": 9, "expression": "self.spec.size < 0"}));
    world.accept("p3", &json!({"priority": 8, "cordoned": true}));
    world.accept("p4", &json!({"priority": 1}));
    let accepting = ["p1/best accepts", "p4/all accepts", "p1/all accepts"];
    assert_eq!(told(&mut world), [&accepting[..], &["p2/all refuses", "p3/all cannot take it"]].concat());
}

#[test]
fn nobody_is_asked_about_what_cannot_be_read() {
    let mut world = World::with_origin();
    assert_eq!(told(&mut world), ["p1/all accepts"]);
    world.edit(&web(), |origin| origin["metadata"]["annotations"][DEEP] = json!(""));
    assert_eq!(told(&mut world), Vec::<String>::new());
}
