//! What a provider says costs the consumer so much and no more; and what comes last arrives.

use broker_api::ClusterName;
use broker_core::memory::Subject;
use runtime_effect::memory::BURST;
use serde_json::{Value, json};

use crate::decide::world::{World, key, web};

fn homer() -> ClusterName {
    ClusterName::consumer("homer")
}

fn p1() -> ClusterName {
    ClusterName::provider("p1")
}

fn phase(world: &World) -> &Value {
    &world.origin(&web()).unwrap()["status"]["phase"]
}

fn secrets(names: &[String]) -> Value {
    let entry = |name: &String| (name.clone(), json!({"gvk": {"version": "v1", "kind": "Secret"}, "name": name}));
    Value::Object(names.iter().map(entry).collect())
}

fn told<'d>(decision: &'d broker_core::decision::Decision, reason: &str) -> &'d str {
    let note = decision.notes.iter().find(|note| note.reason == reason);
    &note.unwrap_or_else(|| panic!("no {reason}: {:?}", decision.notes)).message
}

#[test]
fn a_status_that_changes_without_end_is_written_once_a_second_and_the_last_arrives() {
    let mut world = World::served();
    world.millis += 60_000;
    world.log.clear();
    for round in 0..200 {
        world.provider_status("p1", &web(), json!({"phase": format!("{round}")}));
        let decision = world.pass(&web());
        assert!(decision.steps.len() == 1 || decision.again.is_some(), "what is held back comes later");
        world.millis += 49;
    }
    let written = world.log.len() as u64;
    assert!((BURST + 9..=BURST + 10).contains(&written), "ten seconds: {written}");
    world.settle(&web());
    assert_eq!(phase(&world), "199");
    world.assert_steady(&web());
}

#[test]
fn a_consumer_that_edits_its_spec_is_not_slowed() {
    let mut world = World::served();
    for round in 0..50 {
        world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!(format!("{round}.corp")));
        world.settle_briefly(&web());
        assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], format!("{round}.corp"));
    }
}

#[test]
fn related_resources_that_alternate_are_paced_with_the_status() {
    let mut world = World::served();
    let names: Vec<String> = (0..12).map(|index| format!("web-{index}")).collect();
    for name in &names {
        world.put_secret(&p1(), name, json!({"metadata": {}, "data": {"k": "one"}}));
    }
    world.millis += 60_000;
    world.log.clear();
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": secrets(&names)}));
    world.settle_briefly(&web());
    assert_eq!(world.log.len() as u64, BURST);
    world.settle(&web());
    assert_eq!(world.log.len(), names.len() + 1, "each once, and the status");
    assert!(names.iter().all(|name| world.secret(&homer(), name).is_some()));
}

#[test]
fn a_status_that_is_too_large_is_not_brought_and_told() {
    let mut world = World::served();
    world.provider_status("p1", &web(), json!({"phase": "x".repeat(70_000)}));
    let decision = world.settle(&web());
    assert!(told(&decision, "StatusTooLarge").contains("64 KiB"));
    assert_eq!(phase(&world), "Up", "what was there stays");
    let condition = world.condition(&web(), "Brokered").unwrap();
    assert!(condition.starts_with("True/StatusTooLarge: served by provider p1; "), "{condition}");
    world.assert_steady(&web());
    // The size is not told: another one is no news.
    world.log.clear();
    world.provider_status("p1", &web(), json!({"phase": "y".repeat(80_000)}));
    world.settle(&web());
    assert_eq!(world.writes(), [""; 0]);
    world.provider_status("p1", &web(), json!({"phase": "Small"}));
    world.settle(&web());
    assert_eq!(phase(&world), "Small");
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/Placed"));
    world.assert_steady(&web());
}

#[test]
fn a_status_that_is_just_small_enough_is_brought() {
    let status = json!({"phase": "News"});
    for (less, brought) in [(0, "News"), (1, "Up")] {
        let mut world = World::served();
        world.provider_status("p1", &web(), status.clone());
        world.limits.status = runtime_effect::size::of(&status) - less;
        world.settle(&web());
        assert_eq!(phase(&world), brought);
    }
}

#[test]
fn why_the_copy_is_not_what_it_should_be_is_told_also_where_its_status_is_too_large() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    let write = world.look(&web()).writes().find(|write| write.subject == Subject::Copy).unwrap().clone();
    let now = world.millis;
    let memory = &mut world.memories.get_mut(&web()).unwrap().writes;
    memory.refused(write.subject, write.intent, "Invalid", "not so".into(), now, 0);
    world.provider_status("p1", &web(), json!({"phase": "x".repeat(70_000)}));
    world.pass(&web());
    assert_eq!(world.condition(&web(), "Brokered").unwrap(), "False/Invalid: not so");
}

#[test]
fn related_resources_that_are_too_large_are_refused_each_and_together() {
    let mut world = World::served();
    let data = |size: usize| json!({"metadata": {}, "data": {"k": "x".repeat(size)}});
    let names: Vec<String> = (0..7).map(|index| format!("web-{index}")).collect();
    world.put_secret(&p1(), &names[0], data(300_000));
    for name in &names[1..] {
        world.put_secret(&p1(), name, data(200_000));
    }
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": secrets(&names)}));
    let decision = world.settle(&web());
    let refused: Vec<&str> =
        decision.notes.iter().filter(|note| note.reason == "RelatedRefused").map(|note| &*note.message).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].contains("web-0") && refused[0].contains("256 KiB (--max-related-size)"), "{refused:?}");
    assert!(refused[1].contains("web-6") && refused[1].contains("1 MiB"), "{refused:?}");
    assert!(world.secret(&homer(), "web-0").is_none() && world.secret(&homer(), "web-6").is_none());
    assert!(names[1..6].iter().all(|name| world.secret(&homer(), name).is_some()));
    world.assert_steady(&web());
}

#[test]
fn a_consumer_has_no_more_objects_than_its_quota() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    world.quota = Some(1);
    world.create(&key("homer", "first"), json!({}));
    world.settle(&key("homer", "first"));
    world.create(&web(), json!({}));
    let decision = world.settle(&web());
    assert!(told(&decision, "QuotaExceeded").contains("--max-objects-per-consumer"));
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/QuotaExceeded"));
    world.engage(ClusterName::consumer("bart"));
    let theirs = key("bart", "theirs");
    world.create(&theirs, json!({}));
    world.settle(&theirs);
    assert!(world.copy("p1", &theirs).is_some(), "another's quota is another's");
    world.delete(&key("homer", "first"));
    world.settle(&key("homer", "first"));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn an_acceptapi_takes_so_many_of_one_consumer() {
    let mut world = World::new(&["p1", "p2"]);
    world.accept("p1", &json!({"capacityPerConsumer": 1, "priority": 1}));
    for name in ["first", "second"] {
        world.create(&key("homer", name), json!({}));
        world.settle(&key("homer", name));
    }
    let waits = world.condition(&key("homer", "second"), "Brokered").unwrap();
    assert!(waits.starts_with("False/NoProvider") && waits.contains("capacityPerConsumer 1"), "{waits}");
    world.accept("p2", &json!({}));
    world.settle(&key("homer", "second"));
    assert!(world.copy("p2", &key("homer", "second")).is_some(), "others may take it");
    world.engage(ClusterName::consumer("bart"));
    world.create(&key("bart", "theirs"), json!({}));
    world.settle(&key("bart", "theirs"));
    assert!(world.copy("p1", &key("bart", "theirs")).is_some());
}
