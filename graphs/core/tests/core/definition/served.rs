//! Which revision serves.

use graphs_core::definition::{Serve, Subject};

use crate::definition::world::*;

#[test]
fn an_invalid_edit_leaves_the_last_good_revision_serving_and_issues_none() {
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    assert_eq!((world.served, world.numbers()), (Some(1), vec![1]));
    assert_eq!(world.condition("GraphAccepted"), ["False", "InvalidResourceGraph", "node bad is bad"]);
    assert_eq!(world.condition("GraphRevisionsResolved")[2], "revision 1 compiled and active");
    assert_eq!(world.status()["state"], "Inactive");
    world.restart();
    world.run();
    assert_eq!(world.served, Some(1), "also after a restart");
    world.edit(other());
    world.run();
    assert_eq!((world.served, world.status()["state"].as_str()), (Some(2), Some("Active")));
}

#[test]
fn the_newest_that_compiles_serves_when_a_kind_vanished() {
    let mut world = World::settled(&plain());
    world.later = true;
    world.edit(spec(&["name"], &[later("x")]));
    world.run();
    assert_eq!(world.served, Some(2));
    world.later = false;
    world.restart();
    let decision = world.run();
    assert_eq!((world.served, decision.waits_for), (Some(1), vec![later_kind()]));
    let why = "revision 2 does not compile any more, and revision 1 keeps serving: schema not found: Later";
    assert_eq!(world.condition("GraphRevisionsResolved"), ["False", "Failed", why]);
    world.later = true;
    let decision = world.run();
    assert_eq!((world.served, world.numbers(), decision.waits_for), (Some(2), vec![1, 2], vec![]));
}

#[test]
fn an_rgd_that_waits_for_a_kind_says_so_and_goes_on_when_it_is_there() {
    let mut world = World::of(&spec(&["name"], &[later("x")]));
    let decision = world.run();
    assert_eq!(decision.waits_for, [later_kind()]);
    assert_eq!(world.condition("GraphAccepted"), ["False", "InvalidResourceGraph", "schema not found: Later"]);
    assert!(world.revisions.is_empty() && world.crd.is_none());
    world.later = true;
    world.run();
    assert_eq!(world.served, Some(1));
}

#[test]
fn what_serves_goes_on_until_the_crd_is_that_of_the_next() {
    let mut world = World::settled(&plain());
    world.edit(wider());
    world.step(1);
    assert_eq!((world.numbers(), world.served), (vec![1, 2], Some(1)));
    world.step(usize::MAX);
    assert_eq!(world.served, Some(1));
    world.run();
    assert_eq!(world.served, Some(2));
}

#[test]
fn an_older_revision_is_not_compiled_for_the_moment_until_the_crd_is_written() {
    let mut world = World::settled(&plain());
    world.edit(wider());
    world.step(1);
    world.restart();
    let decision = world.decide();
    assert_eq!((decision.writes.len(), decision.compile, decision.serve), (1, None, Serve::AsBefore));
}

#[test]
fn a_crd_without_its_digest_is_served_while_it_cannot_be_written() {
    let mut world = World::settled(&plain());
    world.change_crd(|crd| crd["metadata"]["annotations"] = serde_json::json!({}));
    let crd = world.decide().writes.pop().unwrap();
    world.memory.refused(crd.subject, crd.intent, "Forbidden", "no right".into(), 100_000, 0);
    world.served = None;
    world.step(usize::MAX);
    assert_eq!(world.served, Some(1));
}

#[test]
fn while_the_crd_cannot_be_written_the_revision_that_it_was_made_for_serves() {
    let mut world = World::settled(&plain());
    world.edit(wider());
    world.step(1);
    let crd = world.decide().writes.pop().unwrap();
    assert_eq!((world.numbers(), crd.subject), (vec![1, 2], Subject::CustomResource));
    world.memory.refused(crd.subject, crd.intent, "Forbidden", "no right".into(), 100_000, 0);
    world.served = None;
    world.run();
    assert_eq!(world.served, Some(1));
    assert_eq!(world.condition("KindReady"), ["False", "Failed", "failed to update CRD webapps.kro.run: no right"]);
}

#[test]
fn what_the_crd_was_made_for_serves_while_nobody_can_tell_of_a_newer_one() {
    let mut world = World::settled(&plain());
    world.later = true;
    world.edit(spec(&["name", "more"], &[later("x")]));
    world.step(1);
    assert_eq!(world.numbers(), [1, 2]);
    world.restart();
    // A kind of the newer one is served by a cluster that is not read.
    world.blind.outcome = true;
    let decision = world.decide();
    assert_eq!((decision.serve, decision.compile.as_deref()), (Serve::AsBefore, Some("web-r00002")));
    world.compiled.insert("web-r00001".to_owned());
    let decision = world.decide();
    assert_eq!(decision.serve.number(), Some(1));
    // The CRD is not taken back to it.
    assert!(!decision.writes.iter().any(|write| write.subject == Subject::CustomResource), "{:?}", decision.writes);
}
