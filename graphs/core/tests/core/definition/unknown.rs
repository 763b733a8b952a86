//! What is not known is never absent.

use graphs_core::definition::Serve;
use serde_json::json;

use crate::definition::world::*;

#[test]
fn nothing_is_done_about_an_rgd_that_is_not_known() {
    let mut world = World::settled(&plain());
    world.blind.rgd = true;
    world.revisions.get_mut("web-r00001").unwrap()["metadata"]["deletionTimestamp"] = json!("now");
    let decision = world.decide();
    assert_eq!((decision.writes, decision.serve), (vec![], Serve::AsBefore));
}

#[test]
fn nothing_is_made_while_revisions_are_not_known() {
    let mut world = World::of(&plain());
    world.blind.revisions = true;
    world.run();
    assert_eq!(world.written(), [("ResourceGraphDefinition", "status")]);
    assert_eq!(world.condition("GraphRevisionsResolved")[..2], ["Unknown", "WaitingForGraphRevisionWarmup"]);
    assert_eq!(world.condition("Ready")[1], "WaitingForGraphRevisionWarmup");
    world.blind.revisions = false;
    world.run();
    assert_eq!(world.served, Some(1));
}

#[test]
fn a_restart_takes_nothing_back_while_little_is_known() {
    let mut world = World::settled(&plain());
    world.restart();
    world.log.clear();
    let everything = Blind { revisions: true, crd: true, outcome: true, ..Blind::default() };
    let outcome = Blind { outcome: true, ..Blind::default() };
    for (blind, served) in [(everything, None), (Blind { crd: true, ..Blind::default() }, None), (outcome, Some(1))] {
        world.blind = blind;
        let serve = world.run().serve;
        assert_eq!((serve.number(), serve == Serve::AsBefore), (served, served.is_none()), "{blind:?}");
        assert_eq!(world.written(), [], "{blind:?}");
        world.restart();
    }
}

#[test]
fn a_crd_that_is_not_known_is_not_made() {
    let mut world = World::of(&plain());
    world.blind.crd = true;
    world.run();
    assert!(world.crd.is_none() && world.numbers() == [1]);
    assert_eq!(world.condition("KindReady")[1], "AwaitingReconciliation");
    world.blind.crd = false;
    world.run();
    assert_eq!(world.served, Some(1));
}

#[test]
fn a_revision_that_is_not_seen_yet_is_waited_for() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.run();
    world.lagging = true;
    world.edit(plain());
    let decision = world.step(usize::MAX);
    assert!(decision.confirm && decision.serve == Serve::AsBefore);
    assert_eq!(world.condition("GraphRevisionsResolved")[..2], ["Unknown", "WaitingForGraphRevisionSettlement"]);
    assert_eq!(world.numbers(), [1, 2]);
    world.step(usize::MAX);
    assert_eq!(world.numbers(), [1, 2, 3], "the list itself was read");
    world.lagging = false;
    world.run();
    assert_eq!((world.issued.len(), world.served), (3, Some(3)));
}

#[test]
fn an_rgd_that_is_seen_as_it_was_issues_nothing() {
    let mut world = World::settled(&plain());
    let before = world.rgd.clone();
    world.edit(other());
    world.step(1);
    world.rgd = before;
    world.restart();
    let decision = world.decide();
    assert_eq!((decision.writes, decision.serve), (vec![], Serve::AsBefore));
}

#[test]
fn the_newest_revision_is_asked_for_before_anything_is_concluded() {
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    world.restart();
    world.edit(spec(&["name"], &[resource("bad", &[]), resource("e", &[])]));
    let decision = world.step(usize::MAX);
    assert_eq!(decision.compile.as_deref(), Some("web-r00001"));
    assert_eq!(world.condition("GraphRevisionsResolved")[..2], ["Unknown", "WaitingForGraphRevisionCompilation"]);
    assert_eq!(world.status()["topologicalOrder"], json!(["a", "b"]), "what is not known stays");
}
