//! Steady state: nothing is written when nothing changed, also after a restart, whatever the schemas hold.

use broker_api::keys;
use serde_json::{Value, json};

use crate::decide::world::{World, certificate, provider_rule, web};

/// A served origin with this spec and this status at the provider, once all is quiet.
fn served_with(spec: Value, status: Value) -> World {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    world.create(&web(), spec);
    world.settle(&web());
    world.provider_status("p1", &web(), status);
    world.settle(&web());
    world
}

#[test]
fn a_copy_of_an_earlier_release_gets_its_slot_with_its_next_write() {
    let mut world = World::served();
    let slot = |world: &World| world.copy("p1", &web()).unwrap()["metadata"]["labels"].get(keys::SLOT).cloned();
    let given = slot(&world);
    assert!(given.is_some());
    world.edit_copy("p1", &web(), |copy| drop(copy["metadata"]["labels"].as_object_mut().unwrap().remove(keys::SLOT)));
    world.assert_steady(&web());
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    world.settle(&web());
    assert_eq!(slot(&world), given);
    // Another one is somebody's work.
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["labels"][keys::SLOT] = json!("zz"));
    world.settle(&web());
    assert_eq!(slot(&world), given);
}

#[test]
fn a_field_that_the_provider_prunes() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    world.create(&web(), json!({"fqdn": "a", "note": "kept at home"}));
    world.pass(&web());
    let creating = world.pass(&web());
    let note = creating.notes.iter().find(|note| note.reason == "FieldsDropped").expect("the loss is told");
    assert!(note.message.contains("spec.note"), "{}", note.message);
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"].get("note"), None);
    world.assert_steady(&web());
    world.edit(&web(), |origin| origin["spec"]["note"] = json!("another"));
    world.settle(&web());
    world.assert_steady(&web());
}

#[test]
fn a_schema_that_nobody_has_read() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    let rule = world.provider("p1").objects.kinds.get_mut(&certificate()).unwrap();
    rule.published = false;
    rule.webhook = Some(|copy| copy["spec"]["fqdn"] = json!("always.corp"));
    world.create(&web(), json!({"fqdn": "a"}));
    world.settle(&web());
    let copy = world.copy("p1", &web()).unwrap();
    let generation = copy["metadata"]["generation"].clone();
    world.provider_status("p1", &web(), json!({"observedGeneration": generation}));
    world.settle(&web());
    let decision = world.look(&web());
    assert_eq!(decision.steps, []);
    let origin = world.origin(&web()).unwrap();
    assert_eq!(
        origin["status"]["observedGeneration"], origin["metadata"]["generation"],
        "the copy is as good as it can be: the provider's word on it is current"
    );
    world.restart();
    world.log.clear();
    world.settle(&web());
    assert!(world.log.len() <= 1, "one write tells a broker without memory what the server makes of it");
}

#[test]
fn defaults_lists_and_fields_of_others() {
    let spec = json!({
        "fqdn": "a", "tags": ["b", "a"], "owners": ["x", "y"], "limits": {"cpu": "1"},
        "ports": [{"name": "web", "port": 80}, {"name": "ssh"}],
        "disks": [{"gb": 1}, {"gb": 2}],
    });
    let mut world = served_with(spec, json!({"phase": "Up"}));
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["disks"][0], json!({"gb": 1, "class": "hdd"}));
    world.assert_steady(&web());
    world.edit_copy("p1", &web(), |copy| {
        copy["spec"]["owners"] = json!(["z", "y", "x"]);
        copy["spec"]["ports"].as_array_mut().unwrap().insert(0, json!({"name": "theirs", "port": 1}));
        copy["spec"]["ports"][1]["protocol"] = json!("UDP");
        copy["spec"]["limits"]["theirs"] = json!("1");
        copy["spec"]["tier"] = json!("gold");
        copy["metadata"]["labels"]["theirs"] = json!("1");
        copy["metadata"]["annotations"]["theirs"] = json!("1");
        copy["metadata"]["finalizers"] = json!(["theirs/one"]);
    });
    world.assert_steady(&web());
}

#[test]
fn an_atomic_list_that_somebody_adds_to_is_put_right() {
    let mut world = served_with(json!({"tags": ["a"]}), json!({}));
    world.edit_copy("p1", &web(), |copy| copy["spec"]["tags"] = json!(["a", "b"]));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["tags"], json!(["a"]));
    world.assert_steady(&web());
}

#[test]
fn a_status_that_the_consumer_prunes_and_defaults() {
    let status = json!({"phase": "Up", "internal": "x", "conditions": [
        {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "t", "observedGeneration": 1},
    ]});
    let mut world = served_with(json!({"fqdn": "a"}), status);
    assert_eq!(world.origin(&web()).unwrap()["status"]["replicas"], 1);
    world.assert_steady(&web());
}

#[test]
fn a_consumer_schema_that_nobody_has_read() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    world.consumer().objects.kinds.get_mut(&certificate()).unwrap().published = false;
    world.create(&web(), json!({"fqdn": "a"}));
    world.settle(&web());
    world.provider_status("p1", &web(), json!({"phase": "Up", "internal": "pruned at home"}));
    world.settle(&web());
    assert_eq!(world.assert_holds_still(&web()), broker_core::decision::State::Served);
    world.restart();
    world.log.clear();
    world.settle(&web());
    assert!(world.log.len() <= 1);
}

#[test]
fn numbers_are_equal_by_value_and_nulls_are_nothing() {
    let mut world = served_with(json!({"fqdn": "a", "size": 2.0}), json!({"phase": "Up"}));
    world.edit_copy("p1", &web(), |copy| copy["spec"]["size"] = json!(2));
    world.assert_steady(&web());
}

#[test]
fn conditions_in_another_order() {
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "t"});
    let mut world = served_with(json!({}), json!({"conditions": [condition("A"), condition("B")]}));
    world.edit(&web(), |origin| origin["status"]["conditions"].as_array_mut().unwrap().reverse());
    world.assert_steady(&web());
}

#[test]
fn an_older_generation_of_ours_is_not_touched_while_the_provider_works() {
    let mut world = served_with(json!({"size": 1}), json!({"observedGeneration": 1}));
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(2));
    world.log.clear();
    world.settle(&web());
    assert_eq!(world.log.len(), 1, "the copy, and no status that says what is there already");
    world.assert_steady(&web());
}

#[test]
fn a_field_that_a_new_crd_at_the_provider_takes_arrives() {
    let mut world = served_with(json!({"note": "n"}), json!({}));
    // The last write is an edit, made of a payload that does not change when the CRD does.
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(2));
    world.settle(&web());
    let mut rule = provider_rule();
    rule.schema["properties"]["spec"]["properties"]["note"] = json!({"type": "string"});
    world.provider("p1").objects.kinds.insert(certificate(), rule);
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["note"], "n");
    world.assert_steady(&web());
}

#[test]
fn waiting_refused_conflicting_and_unreachable_are_steady_too() {
    let mut world = World::new(&["p1"]);
    world.create(&web(), json!({"fqdn": "a"}));
    world.settle(&web());
    world.assert_steady(&web());
    world.accept("p1", &json!({"filters": [{"key": "fqdn", "suffix": "corp"}]}));
    world.settle(&web());
    world.assert_steady(&web());
    world.accept("p1", &json!({}));
    world.settle(&web());
    world.provider("p1").reach = runtime_effect::reach::Reach::Unreachable("down".into());
    world.settle(&web());
    world.assert_steady(&web());
    world.provider("p1").reach = runtime_effect::reach::Reach::Ready;
    world.settle(&web());
    world.accept_no_more("p1");
    world.settle(&web());
    world.assert_steady(&web());
}

#[test]
fn after_a_rotation_everything_is_signed_anew_once() {
    use broker_core::assignment::{Key, KeyRing};
    let mut world = World::served();
    let key = |id: &str| Key { id: id.into(), secret: id.bytes().cycle().take(32).collect() };
    world.ring = KeyRing::new(vec![key("second"), key("first")]).unwrap();
    world.settle(&web());
    world.assert_steady(&web());
    // The old key can go now: nothing is placed anew, nothing is written.
    world.ring = KeyRing::new(vec![key("second")]).unwrap();
    assert!(world.signed("p1", &web()).is_some());
    world.assert_steady(&web());
}

/// API servers make null of a map of which nothing is left, and refuse that: it is taken away first.
#[test]
fn a_map_that_is_emptied() {
    let mut world = served_with(json!({"fqdn": "a", "limits": {"cpu": "1", "memory": "2"}}), json!({"phase": "Up"}));
    world.edit(&web(), |origin| origin["spec"]["limits"] = json!({}));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"], json!({"fqdn": "a", "limits": {}, "tier": "standard"}));
    world.assert_steady(&web());
    // All that there is.
    world.edit(&web(), |origin| origin["spec"] = json!({"limits": {"cpu": "1"}}));
    world.settle(&web());
    world.edit(&web(), |origin| origin["spec"]["limits"] = json!({}));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"], json!({"limits": {}, "tier": "standard"}));
    world.assert_steady(&web());
}

#[test]
fn a_map_that_is_to_be_empty_and_that_others_fill() {
    let mut world = served_with(json!({"fqdn": "a", "limits": {}}), json!({"phase": "Up"}));
    let rule = world.provider("p1").objects.kinds.get_mut(&certificate()).unwrap();
    rule.webhook = Some(|copy| copy["spec"]["fqdn"] = json!("always.corp"));
    world.edit_copy("p1", &web(), |copy| copy["spec"]["limits"]["theirs"] = json!("1"));
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b"));
    world.settle(&web());
    let copy = world.copy("p1", &web()).unwrap();
    assert_eq!(copy["spec"]["limits"], json!({"theirs": "1"}));
    let generation = copy["metadata"]["generation"].clone();
    world.provider_status("p1", &web(), json!({"observedGeneration": generation}));
    world.settle(&web());
    let origin = world.origin(&web()).unwrap();
    let told = (&origin["status"]["observedGeneration"], &origin["metadata"]["generation"]);
    assert_eq!(told.0, told.1, "the copy is as good as it gets");
    world.assert_holds_still(&web());
}
