//! Refusals where the platform keeps providers and their rules to itself.

use serde_json::json;

use crate::decide::world::{World, web};

/// A world where `secretive` takes what is in `corp` only, and people are told so or not.
fn refused(brief: bool) -> World {
    let mut world = World::new(&["secretive", "other"]);
    world.brief = brief;
    for provider in ["secretive", "other"] {
        world.accept(provider, &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    }
    world.create(&web(), json!({"fqdn": "a.test"}));
    world
}

#[test]
fn people_are_told_who_refuses_and_why_unless_the_platform_keeps_it_to_itself() {
    let decision = |brief| {
        let mut world = refused(brief);
        let decision = world.look(&web());
        let told: Vec<String> = decision.notes.iter().map(|note| note.message.clone()).collect();
        world.settle(&web());
        let condition = world.condition(&web(), "Brokered").unwrap();
        (told.join(" "), condition, decision.unabridged)
    };
    let (told, condition, logged) = decision(false);
    for text in [&told, &condition] {
        assert!(text.contains("secretive") && text.contains(".corp"), "{text}");
    }
    assert!(logged.is_empty(), "people know it all: {logged:?}");
    let (told, condition, logged) = decision(true);
    for text in [&told, &condition] {
        assert!(!text.contains("secretive") && !text.contains(".corp") && !text.contains("other"), "{text}");
        assert!(text.contains("no provider accepts the object (2 reasons)"), "{text}");
    }
    assert!(logged.iter().all(|full| full.contains("secretive") && full.contains(".corp")), "{logged:?}");
    assert!(!logged.is_empty(), "the log has it");
}

#[test]
fn who_is_served_already_is_told_no_more() {
    let mut world = refused(true);
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("a.corp"));
    world.settle(&web());
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("a.test"));
    world.settle(&web());
    let told = world.condition(&web(), "Accepted").unwrap();
    assert!(told.contains("its provider does not accept the object (1 reason)") && !told.contains(".corp"), "{told}");
    assert!(told.contains("no other provider accepts the object (1 reason)") && !told.contains("other:"), "{told}");
}

#[test]
fn where_there_is_no_reason_none_is_counted() {
    let mut world = World::new(&["secretive"]);
    world.brief = true;
    world.create(&web(), json!({}));
    world.settle(&web());
    assert_eq!(
        world.condition(&web(), "Brokered").unwrap(),
        "False/NoProvider: no provider has an AcceptAPI for this resource"
    );
}
