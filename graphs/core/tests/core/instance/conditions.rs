//! The status, letter by letter.

use broker_api::graphs::keys;
use graphs_core::instance::Authored;
use serde_json::{Value, json};

use crate::instance::world::{World, chain};

#[test]
fn the_four_conditions_in_their_order() {
    let mut world = World::new(chain());
    world.fields = json!({"url": "x"});
    world.turn();
    let entry = |kind: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": message, "observedGeneration": 1,
            "lastTransitionTime": "t001000000"})
    };
    assert_eq!(
        *world.status(),
        json!({"url": "x", "state": "ACTIVE", "conditions": [
            entry("InstanceManaged", "Managed", "instance is properly managed with finalizers and labels"),
            entry("GraphResolved", "Resolved", "runtime graph created and all resources resolved"),
            entry("ResourcesReady", "AllResourcesReady", "all resources are created and ready"),
            entry("Ready", "Ready", ""),
        ]})
    );
}

#[test]
fn the_time_moves_only_with_the_status_and_the_generation_is_told() {
    let mut world = World::new(chain());
    world.turn();
    world.millis += 1000;
    world.spec(json!({"values": {"a": "new"}}));
    world.turn();
    let entry = |world: &World, index: usize, field: &str| world.status()["conditions"][index][field].clone();
    assert_eq!(
        (entry(&world, 3, "observedGeneration"), entry(&world, 3, "lastTransitionTime")),
        (json!(2), json!("t001000000"))
    );
    world.millis += 1000;
    world.spec(json!({"fail": {"a": "x"}}));
    world.turn();
    assert_eq!(
        (entry(&world, 2, "lastTransitionTime"), entry(&world, 1, "lastTransitionTime")),
        (json!("t001002000"), json!("t001000000"))
    );
    world.millis += 5000;
    world.spec(json!({"fail": {"a": "y"}}));
    world.turn();
    assert_eq!(entry(&world, 3, "lastTransitionTime"), json!("t001002000"));
    assert_eq!(world.condition("Ready").2, "resource error: a: y");
}

#[test]
fn changes_are_told_one_by_one_where_somebody_wants_them() {
    let mut world = World::new(chain());
    world.turn();
    assert!(!world.told.iter().any(|told| told.contains("->")), "{:?}", world.told);
    let mut world = World::new(chain());
    world.tells_conditions = true;
    world.turn();
    let told = std::mem::take(&mut world.told);
    for words in ["InstanceManaged none -> True: Managed", "Ready none -> True: Ready"] {
        assert!(told.contains(words), "{told:?}");
    }
    world.spec(json!({"fail": {"a": "x"}}));
    world.turn();
    let mut told = std::mem::take(&mut world.told);
    told.retain(|told| told.contains("->"));
    let words: Vec<&str> = told.iter().map(String::as_str).collect();
    assert_eq!(words, ["Ready True -> False: NotReady", "ResourcesReady True -> False: NotReady"]);
    world.spec(json!({"fail": {"a": "y"}}));
    world.turn();
    assert!(!world.told.iter().any(|told| told.contains("->")), "another message is no change: {:?}", world.told);
}

#[test]
fn the_status_is_replaced_as_a_whole_and_written_only_if_it_differs() {
    let mut world = World::new(chain());
    world.fields = json!({"url": "x", "nested": {"a": 1, "b": 2}});
    world.turn();
    let at = world.at();
    world.server.edit(&at, |object| object["status"]["stray"] = json!(1));
    world.fields = json!({"nested": {"b": 2}});
    assert_eq!(world.writes(), ["status web"]);
    assert!(world.status().get("stray").is_none() && world.status().get("url").is_none());
    assert_eq!(world.status()["nested"], json!({"b": 2}));
    assert!(world.writes().is_empty());
}

#[test]
fn a_field_that_fails_is_named() {
    let mut world = World::new(chain());
    world.errors = vec!["status.url: division by zero".into()];
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
    let (status, reason, message) = world.condition("GraphResolved");
    assert_eq!((status, reason), ("True", "Resolved"));
    assert!(message.ends_with("status.url: division by zero"));
}

#[test]
fn a_status_that_changes_all_the_time_is_paced() {
    let mut world = World::new(chain());
    world.turn();
    world.server.written();
    for round in 0..20 {
        world.fields = json!({"round": round});
        world.turn();
    }
    let written = world.server.written().len();
    assert!((3..8).contains(&written), "{written}");
    world.settle();
    assert_eq!(world.status()["round"], 19);
}

fn said(kind: &str, status: &str) -> Authored {
    Authored::Condition { kind: kind.into(), status: status.into(), reason: "R".into(), message: "m".into() }
}

fn types(world: &World) -> Vec<String> {
    let entries = world.status()["conditions"].as_array().unwrap();
    entries.iter().map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_authors_conditions_take_the_place_of_the_built_in_ones_which_they_can_read() {
    let mut world = World::new(chain());
    world.turn();
    world.authored = Some(|builtin: &[Value]| {
        assert_eq!(builtin.len(), 4);
        let ready = builtin[3]["status"].as_str().unwrap();
        vec![said("Healthy", ready), said("Ready", "False")]
    });
    world.turn();
    assert_eq!(types(&world), ["Healthy", "Ready"]);
    assert_eq!((world.condition("Healthy"), world.condition("Ready")), (("True", "R", "m"), ("False", "R", "m")));
    assert_eq!(world.state(), "ACTIVE");
    assert_eq!(world.status()["conditions"][0]["observedGeneration"], 1);
    assert!(world.writes().is_empty());
    world.authored = None;
    world.turn();
    assert_eq!(types(&world), ["InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"]);
}

#[test]
fn what_is_pending_stays_as_it_was() {
    let mut world = World::new(chain());
    world.authored = Some(|_| vec![said("One", "True"), said("Two", "False")]);
    world.turn();
    world.authored = Some(|_| vec![Authored::Pending(Some("One".into())), said("Two", "True")]);
    world.turn();
    assert_eq!((world.condition("One").0, world.condition("Two").0), ("True", "True"));
    world.authored = Some(|_| vec![Authored::Pending(None), said("Two", "False")]);
    world.turn();
    assert_eq!((world.condition("One").0, world.condition("Two").0, world.state()), ("True", "False", "ACTIVE"));
    // The built-in ones are none of an author's.
    world.authored = None;
    world.turn();
    world.authored =
        Some(|_| vec![Authored::Pending(None), Authored::Pending(Some("Ready".into())), said("Two", "True")]);
    world.turn();
    assert_eq!(types(&world), ["Two"]);
}

#[test]
fn what_is_said_twice_or_fails_is_dropped_and_the_rest_is_kept() {
    for authored in [
        (|_: &[Value]| vec![said("Two", "True"), said("One", "True"), said("Two", "False")])
            as fn(&[Value]) -> Vec<Authored>,
        |_| vec![said("One", "True"), Authored::Failed("division by zero".into())],
        |_| vec![said("One", "True"), said("Two", "Maybe")],
    ] {
        let mut world = World::new(chain());
        world.authored = Some(authored);
        world.turn();
        assert_eq!((types(&world), world.state()), (vec!["One".to_owned()], "ERROR"));
        assert!(world.writes().is_empty());
    }
}

#[test]
fn suspension_is_told_to_authors_and_deletion_is_laid_over_theirs() {
    let mut world = World::new(chain());
    world.authored = Some(|builtin| vec![said("Mine", builtin[2]["status"].as_str().unwrap())]);
    world.turn();
    world.annotate("kro.run/reconcile", "suspended");
    world.turn();
    assert_eq!((types(&world), world.condition("Mine").0, world.state()), (vec!["Mine".to_owned()], "False", "ACTIVE"));
    let (at, child) = (world.at(), world.child_at("web-c"));
    world.server.edit(&child, |object| object["metadata"]["finalizers"] = json!(["slow/one"]));
    world.server.delete(&at);
    world.turn();
    assert_eq!((types(&world), world.state()), (vec!["Mine".to_owned(), "ResourcesReady".to_owned()], "DELETING"));
    assert!(world.writes().is_empty());
}

#[test]
fn messages_are_bounded() {
    let mut world = World::new(chain());
    world.spec(json!({"fail": {"a": "é".repeat(100_000)}}));
    world.turn();
    assert!(world.condition("Ready").2.len() < 5000);
}

#[test]
fn of_two_that_are_false_the_newer_one_is_told() {
    let mut world = World::new(chain());
    world.server.refuses.insert("web-a".into(), "no right".into());
    world.turn();
    assert_eq!(world.condition("Ready").1, "NotReady");
    world.millis += 1000;
    world.annotate(keys::APPLYSET_TOOLING, "kubectl/1.30");
    world.turn();
    assert_eq!((world.condition("ResourcesReady").0, world.condition("Ready").1), ("False", "ManagementFailed"));
}

#[test]
fn of_two_that_are_false_since_one_moment_the_first_is_told() {
    let mut world = World::new(chain());
    world.server.refuses.insert("web-a".into(), "no right".into());
    world.turn();
    world.graph_error = Some("revision 3 does not compile: x");
    world.turn();
    assert_eq!((world.condition("ResourcesReady").0, world.condition("Ready").1), ("False", "ResolutionFailed"));
}

#[test]
fn what_becomes_true_is_no_warning() {
    let mut world = World::new(vec![]);
    world.tells_conditions = true;
    world.lives = 1;
    world.turn();
    let is_warning = |world: &World| {
        let notes = world.decide().writes.swap_remove(0).notes;
        assert!(!notes.is_empty());
        notes.iter().map(|note| note.warning).collect::<Vec<_>>()
    };
    assert_eq!(is_warning(&world), [false; 4]);
    world.turn();
    world.annotate(keys::RECONCILE, "suspended");
    assert_eq!(is_warning(&world), [true; 2], "ResourcesReady and Ready");
}

#[test]
fn a_message_that_is_just_short_enough_is_whole() {
    for (length, told) in [(4096, 4096), (4097, 4096 + "…".len())] {
        let mut world = World::new(chain());
        world.graph_error = Some(Box::leak("x".repeat(length).into_boxed_str()));
        world.turn();
        assert_eq!(world.condition("GraphResolved").2.len(), told);
    }
}
