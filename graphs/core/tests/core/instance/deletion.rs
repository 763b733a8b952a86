//! Deletion, from the instance's metadata alone.

use broker_api::graphs::keys;
use graphs_core::instance::State;
use serde_json::{Value, json};

use crate::instance::{
    server::{Key, key},
    toy::one,
    world::{World, chain},
};

type Change = Box<dyn Fn(&mut Value)>;

fn going(mut world: World) -> World {
    world.turn();
    world.server.written();
    world.unserved = true;
    let at = world.at();
    world.server.delete(&at);
    world
}

fn hold(world: &mut World, name: &str) -> Key {
    let at = world.child_at(name);
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!(["slow/one"]));
    at
}

#[test]
fn children_go_highest_wave_first_and_then_the_finalizer() {
    let mut world = going(World::new(chain()));
    assert_eq!(world.writes(), ["delete web-c", "delete web-b", "delete web-a", "patch web"]);
    assert!(world.server.objects.is_empty());
    assert_eq!(world.turn().state, State::Gone);
}

#[test]
fn a_lower_wave_waits_and_the_message_names_what_holds_it_up() {
    let mut world = World::new(chain());
    world.turn();
    let at = hold(&mut world, "web-c");
    let mut world = going(world);
    assert_eq!(world.writes(), ["delete web-c", "status web"]);
    assert_eq!(world.state(), "DELETING");
    let said =
        ("Unknown", "UnderDeletion", "deleting resources: waiting for ConfigMap default/web-c (finalizers: slow/one)");
    assert_eq!((world.condition("ResourcesReady"), world.condition("Ready")), (said, said));
    assert_eq!(world.condition("InstanceManaged").0, "True");
    assert!(world.writes().is_empty());
    world.server.objects.remove(&at);
    world.turn();
    assert!(world.server.objects.is_empty());
}

#[test]
fn no_more_than_five_are_named() {
    let mut world = World::new(vec![one("a", &[], 1).collection()]);
    world.spec(json!({"counts": {"a": 8}}));
    world.turn();
    for index in 0..8 {
        hold(&mut world, &format!("web-a-{index}"));
    }
    let mut world = going(world);
    world.turn();
    let said = world.condition("Ready").2;
    assert_eq!(said.matches("slow/one").count(), 5);
    assert!(said.ends_with("; and 3 more"), "{said}");
}

#[test]
fn waves_that_say_nothing_go_last() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 2), one("c", &[], 3)]);
    world.turn();
    let (b, c) = (world.child_at("web-b"), world.child_at("web-c"));
    world.server.edit(&b, |object| object["metadata"]["annotations"] = json!({}));
    world.server.edit(&c, |object| object["metadata"]["annotations"][keys::APPLY_ORDER] = json!("-4"));
    world.unserved = true;
    let at = world.at();
    world.server.delete(&at);
    assert_eq!(world.writes(), ["delete web-a", "delete web-b", "delete web-c", "patch web"]);
}

#[test]
fn a_broken_inventory_blocks_for_good_and_says_what_to_repair() {
    let set = |map: &'static str, name: &'static str, value: Value| {
        move |object: &mut Value| object["metadata"][map][name] = value.clone()
    };
    let cases: [(Change, &str); 5] = [
        (Box::new(set("labels", keys::APPLYSET_ID, json!("other"))), keys::APPLYSET_ID),
        (Box::new(set("annotations", keys::APPLYSET_TOOLING, json!("kubectl/1"))), keys::APPLYSET_TOOLING),
        (Box::new(set("annotations", keys::APPLYSET_GROUP_KINDS, json!("Secret"))), keys::APPLYSET_HASH),
        (Box::new(set("annotations", keys::APPLYSET_NAMESPACES, json!("x"))), keys::APPLYSET_HASH),
        (
            Box::new(|object| {
                drop(object["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::APPLYSET_GROUP_KINDS));
            }),
            keys::APPLYSET_GROUP_KINDS,
        ),
    ];
    for (change, named) in cases {
        let mut world = going(World::new(chain()));
        let (at, before) = (world.at(), world.instance().clone());
        world.server.edit(&at, change);
        assert_eq!(world.writes(), ["status web"], "{named}");
        let (_, reason, said) = world.condition("ResourcesReady");
        assert!(reason == "UnderDeletion" && said.starts_with("deletion blocked: ") && said.contains(named), "{said}");
        assert_eq!((world.state(), world.names().len()), ("DELETING", 3));
        world.restart();
        assert!(world.writes().is_empty());
        world.server.edit(&at, |object| object["metadata"] = before["metadata"].clone());
        world.turn();
        assert!(world.server.objects.is_empty());
    }
}

#[test]
fn a_hash_that_is_missing_is_no_flaw() {
    let mut world = going(World::new(chain()));
    let at = world.at();
    world.server.edit(&at, |object| {
        drop(object["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::APPLYSET_HASH));
    });
    world.turn();
    assert!(world.server.objects.is_empty());
}

#[test]
fn what_is_unknown_waits_and_a_kind_that_is_gone_counts_as_empty() {
    let mut world = going(World::new(vec![one("a", &[], 2), one("d", &[], 1).of("Deployment")]));
    world.unknown.insert("Deployment");
    assert!(world.writes().is_empty());
    world.trouble = Some("deployments are forbidden");
    assert_eq!(world.writes(), ["status web"]);
    assert_eq!(
        world.condition("Ready").2,
        "deletion blocked: Deployment.apps cannot be listed: deployments are forbidden"
    );
    world.unknown.clear();
    world.gone.insert("Deployment");
    assert_eq!(world.writes(), ["delete web-a", "patch web"]);
}

#[test]
fn only_members_go() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.spec(json!({"namespaces": {"a": "far"}}));
    world.turn();
    let own = world.id();
    for (namespace, name, set) in [
        ("far", "near", own.as_str()),
        ("away", "away", own.as_str()),
        ("far", "theirs", "other"),
        ("default", "none", ""),
    ] {
        let object =
            json!({"metadata": {"name": name, "namespace": namespace, "labels": {keys::APPLYSET_PART_OF: set}}});
        world.server.put(key("ConfigMap", namespace, name), object);
    }
    world.unserved = true;
    let at = world.at();
    world.server.delete(&at);
    world.turn();
    assert_eq!(world.names(), ["away", "none", "theirs"]);
}

#[test]
fn other_finalizers_stay_and_without_ours_nothing_is_done() {
    let mut world = going(World::new(chain()));
    let at = world.at();
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!(["their/own", keys::FINALIZER]));
    world.turn();
    assert_eq!(world.instance()["metadata"]["finalizers"], json!(["their/own"]));
    assert_eq!(world.turn().state, State::Gone);
    assert!(world.names().is_empty());
    let mut world = going(World::new(chain()));
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!(["their/own"]));
    assert!(world.writes().is_empty());
    assert_eq!(world.names().len(), 3);
}

#[test]
fn a_suspended_instance_is_deleted_too() {
    let mut world = World::new(chain());
    world.turn();
    world.annotate(keys::RECONCILE, "suspended");
    let mut world = going(world);
    world.turn();
    assert!(world.server.objects.is_empty());
}

#[test]
fn what_was_adopted_stays_if_that_is_asked_for() {
    let mut world = World::new(chain());
    world
        .server
        .put(key("ConfigMap", "default", "web-b"), json!({"metadata": {"name": "web-b", "namespace": "default"}}));
    world.annotate(keys::ADOPTION, keys::RETAIN);
    let mut world = going(world);
    assert_eq!(world.writes(), ["delete web-c", "patch web-b", "delete web-a", "patch web"]);
    assert_eq!(world.names(), ["web-b"]);
    assert!(world.server.part_of(&key("ConfigMap", "default", "web-b")).is_none());
}

#[test]
fn what_a_server_does_not_delete_is_told() {
    let mut world = going(World::new(chain()));
    world.server.refuses.insert("web-c".into(), "protected".into());
    world.turn();
    assert_eq!(world.condition("Ready").2, "deletion blocked: ConfigMap default/web-c: protected");
    assert_eq!(world.names().len(), 3);
    world.server.refuses.clear();
    world.settle();
    assert!(world.server.objects.is_empty());
}
