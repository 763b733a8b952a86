//! Objects of which only metadata can be read: told, deletable, never written over.

use broker_api::{ClusterName, keys};
use broker_core::decision::State;
use runtime_effect::note::Note;
use serde_json::json;

use crate::decide::world::{DEEP, World, web};

fn deepen(object: &mut serde_json::Value) {
    object["metadata"]["annotations"][DEEP] = json!("");
}

#[test]
fn an_origin_that_cannot_be_read_is_told_and_not_marked() {
    let mut world = World::with_origin();
    world.edit(&web(), |origin| {
        deepen(origin);
        origin["metadata"]["finalizers"] = json!(["theirs/one"]);
    });
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Blocked);
    assert!(decision.notes.iter().any(|note| note.reason == "Unreadable"), "{:?}", decision.notes);
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.starts_with("False/Unreadable"), "{words}");
    assert_eq!(world.writes(), ["status homer/web"]);
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["finalizers"], json!(["theirs/one"]));
    world.assert_steady(&web());
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn the_copy_of_an_origin_that_cannot_be_read_stays_as_it_is() {
    let mut world = World::served();
    let before = world.copy("p1", &web()).unwrap().clone();
    world.edit(&web(), deepen);
    let decision = world.settle(&web());
    assert_eq!(decision.provider.as_ref().map(broker_api::ClusterName::name), Some("p1"));
    assert_eq!(world.copy("p1", &web()), Some(&before));
    // Nor does it move because its provider accepts it no more: nobody can tell whom it suits.
    world.accept_no_more("p1");
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()), Some(&before));
    world.assert_steady(&web());
}

#[test]
fn an_origin_that_cannot_be_read_can_be_deleted_and_others_finalizers_stay() {
    let mut world = World::served();
    world.edit(&web(), |origin| {
        deepen(origin);
        origin["metadata"]["finalizers"] = json!([keys::FINALIZER, "theirs/one"]);
    });
    world.settle(&web());
    world.delete(&web());
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["finalizers"], json!(["theirs/one"]));
}

#[test]
fn a_copy_that_cannot_be_read_stays_and_what_it_said_before_does_too() {
    for accepted in [true, false] {
        let mut world = World::served();
        world.provider_status("p1", &web(), json!({"phase": "Before"}));
        world.settle(&web());
        world.edit_copy("p1", &web(), |copy| {
            deepen(copy);
            copy["status"]["phase"] = json!("After");
        });
        let before = world.copy("p1", &web()).unwrap().clone();
        if !accepted {
            world.accept_no_more("p1");
        }
        let decision = world.settle(&web());
        assert_eq!(decision.state, State::Blocked);
        let words = world.condition(&web(), "Brokered").unwrap();
        assert!(words.starts_with("False/Unreadable") && words.contains("p1"), "{words}");
        assert_eq!(world.origin(&web()).unwrap()["status"]["phase"], "Before");
        assert_eq!(world.copy("p1", &web()), Some(&before), "not written over");
        world.assert_steady(&web());
        world.delete(&web());
        world.settle(&web());
        assert_eq!((world.origin(&web()), world.copy("p1", &web())), (None, None));
    }
}

/// A served origin with one related Secret, which the consumer has.
fn with_secret() -> World {
    let name = World::copy_at(&web()).2;
    let mut world = World::served();
    let tls = json!({"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": name});
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": {"tls": tls}}));
    world.put_secret(&ClusterName::provider("p1"), &name, json!({"metadata": {}, "data": {"k": "one"}}));
    world.settle(&web());
    assert!(world.secret(&web().cluster, "web").is_some());
    world
}

#[test]
fn related_resources_of_a_copy_that_cannot_be_read_stay() {
    let mut world = with_secret();
    let held = world.secret(&web().cluster, "web").cloned();
    world.edit_copy("p1", &web(), |copy| {
        deepen(copy);
        copy["status"]["relatedResources"] = json!({});
    });
    world.settle(&web());
    assert_eq!(world.secret(&web().cluster, "web"), held.as_ref());
}

#[test]
fn a_related_resource_that_cannot_be_read_is_left_out_and_told() {
    let mut world = with_secret();
    let held = world.secret(&web().cluster, "web").cloned();
    let secret = json!({"metadata": {"annotations": {DEEP: ""}}, "data": {"k": "two"}});
    world.put_secret(&ClusterName::provider("p1"), &World::copy_at(&web()).2, secret);
    let decision = world.settle(&web());
    let told = |note: &&Note| note.reason == "RelatedRefused" && note.message.contains("nests");
    assert!(decision.notes.iter().any(|note| told(&note)), "{:?}", decision.notes);
    assert_eq!(world.secret(&web().cluster, "web"), held.as_ref());
}
