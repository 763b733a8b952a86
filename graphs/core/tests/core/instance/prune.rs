//! What is no longer wanted.

use broker_api::graphs::keys;
use graphs_core::{
    applyset::{self, Inventory},
    instance::has_lost_labels,
};
use serde_json::{Value, json};

use crate::instance::{
    server::key,
    toy::one,
    world::{World, chain},
};

#[test]
fn what_is_skipped_goes_with_all_that_needs_it_highest_wave_first() {
    let mut world = World::new(chain());
    world.turn();
    world.spec(json!({"skip": ["b"]}));
    assert_eq!(world.writes(), ["delete web-c", "delete web-b", "status web"]);
    assert_eq!((world.names(), world.state()), (vec!["web-a"], "ACTIVE"));
    world.spec(json!({}));
    assert_eq!(world.writes(), ["create web-b", "create web-c", "status web"]);
}

#[test]
fn skipped_at_creation_nothing_is_made() {
    let mut world = World::new(chain());
    world.spec(json!({"skip": ["a"]}));
    assert_eq!(world.writes(), ["patch web", "status web"]);
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn a_lower_wave_waits_until_the_higher_is_gone() {
    let mut world = World::new(chain());
    world.turn();
    let at = world.child_at("web-c");
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!(["slow/one"]));
    world.spec(json!({"skip": ["b"]}));
    assert_eq!(world.writes(), ["delete web-c", "status web"]);
    assert_eq!(world.state(), "IN_PROGRESS");
    assert!(world.condition("ResourcesReady").2.contains("ConfigMap default/web-c (finalizers: slow/one)"));
    assert!(world.writes().is_empty());
    world.server.objects.remove(&at);
    assert_eq!(world.writes(), ["delete web-b", "status web"]);
}

#[test]
fn nothing_goes_while_a_node_is_not_resolved() {
    for spec in [
        json!({"skip": ["x"], "wait": {"y": "pending"}}),
        json!({"skip": ["x"], "fail": {"y": "error"}}),
        json!({"skip": ["x"], "names": {"y": "theirs"}}),
        json!({"skip": ["x"], "names": {"y": "refused"}}),
    ] {
        let mut world = World::new(vec![one("x", &[], 1), one("y", &[], 1)]);
        world.turn();
        let theirs = json!({"metadata": {"name": "theirs", "namespace": "default", "labels": {keys::APPLYSET_PART_OF: "other"}}});
        world.server.put(key("ConfigMap", "default", "theirs"), theirs);
        world.server.refuses.insert("refused".into(), "no".into());
        world.spec(spec.clone());
        world.turn();
        assert!(world.names().contains(&"web-x") && world.names().contains(&"web-y"), "{spec}");
        world.spec(json!({"skip": ["x"]}));
        world.turn();
        assert!(!world.names().contains(&"web-x"), "{spec}");
    }
}

#[test]
fn nothing_goes_while_anything_is_unknown() {
    let mut world = World::new(vec![one("a", &[], 1), one("d", &[], 1).of("Deployment")]);
    world.turn();
    world.graph = vec![one("z", &[], 1)];
    world.unknown.insert("Deployment");
    world.turn();
    assert_eq!(world.names(), ["web-a", "web-z", "web-d"]);
    assert_eq!(world.instance()["metadata"]["annotations"][keys::APPLYSET_GROUP_KINDS], "ConfigMap,Deployment.apps");
    world.unknown.clear();
    world.turn();
    assert_eq!(world.names(), ["web-z"]);
    assert_eq!(world.instance()["metadata"]["annotations"][keys::APPLYSET_GROUP_KINDS], "ConfigMap");
}

#[test]
fn a_removed_node_goes_even_while_another_is_not_ready() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1)]);
    world.turn();
    let at = world.child_at("web-b");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "no"}));
    world.graph.remove(0);
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web-b"], "IN_PROGRESS"));
}

#[test]
fn what_waits_for_another_is_not_pruned() {
    let mut world = World::new(chain());
    world.turn();
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "no"}));
    world.turn();
    assert_eq!(world.names(), ["web-a", "web-b", "web-c"]);
    world.server.delete(&at);
    world.server.refuses.insert("web-a".into(), "no".into());
    world.turn();
    assert_eq!(world.names(), ["web-b", "web-c"]);
}

#[test]
fn what_is_renamed_is_made_first_and_then_goes() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    world.spec(json!({"names": {"a": "new"}}));
    assert_eq!(world.writes(), ["create new", "delete web-a", "status web"]);
}

#[test]
fn only_members_in_the_inventory_go_and_never_the_instance() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let labelled = |name: &str, namespace: &str, set: &str| json!({"metadata": {"name": name, "namespace": namespace, "labels": {keys::APPLYSET_PART_OF: set}}});
    let own = world.id();
    let other = applyset::id("web", "other", "Web", "kro.run");
    world.server.put(key("ConfigMap", "default", "theirs"), labelled("theirs", "default", &other));
    world
        .server
        .put(key("ConfigMap", "default", "nobodys"), json!({"metadata": {"name": "nobodys", "namespace": "default"}}));
    world.server.put(key("ConfigMap", "away", "away"), labelled("away", "away", &own));
    world.server.put(key("ConfigMap", "default", "left"), labelled("left", "default", &own));
    assert_eq!(world.writes(), ["delete left"]);
}

#[test]
fn what_cannot_be_deleted_is_told() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    world.server.refuses.insert("web-a".into(), "forbidden".into());
    world.graph.clear();
    world.turn();
    assert_eq!(world.state(), "ERROR");
    assert_eq!(world.condition("Ready").2, "resource reconciliation failed: ConfigMap default/web-a: forbidden");
    assert_eq!(world.instance()["metadata"]["annotations"][keys::APPLYSET_GROUP_KINDS], "ConfigMap");
    world.server.refuses.clear();
    world.settle();
    assert_eq!((world.names().len(), world.state()), (0, "ACTIVE"));
}

#[test]
fn what_was_adopted_is_released_if_that_is_asked_for() {
    for retain in [false, true] {
        let mut world = World::new(vec![one("a", &[], 1)]);
        let at = key("ConfigMap", "default", "web-a");
        let theirs = json!({"metadata": {"name": "web-a", "namespace": "default", "labels": {"theirs": "1"}}, "data": {"k": "v"}});
        world.server.put(at.clone(), theirs);
        world.turn();
        assert_eq!(world.child("web-a")["metadata"]["annotations"][keys::ADOPTED], "true");
        assert!(world.told.iter().any(|told| told.contains("was there before the instance")));
        if retain {
            world.annotate(keys::ADOPTION, keys::RETAIN);
        }
        world.graph.clear();
        world.turn();
        assert_eq!(world.names().len(), usize::from(retain));
        if retain {
            let metadata = &world.child("web-a")["metadata"];
            assert_eq!(
                (&metadata["labels"], &metadata["annotations"]),
                (&json!({"theirs": "1", "mine": "yes"}), &Value::Null)
            );
            assert!(world.writes().is_empty());
        }
    }
}

#[test]
fn what_we_made_is_deleted_whatever_is_asked_for_adopted_ones() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.annotate(keys::ADOPTION, keys::RETAIN);
    world.turn();
    let at = world.child_at("web-a");
    world
        .server
        .edit(&at, |object| drop(object["metadata"]["labels"].as_object_mut().unwrap().remove(keys::APPLYSET_PART_OF)));
    assert_eq!(world.writes(), ["apply web-a"]);
    assert!(world.child("web-a")["metadata"]["annotations"].get(keys::ADOPTED).is_none());
    world.graph.clear();
    world.turn();
    assert!(world.names().is_empty());
}

#[test]
fn what_has_only_lost_its_labels_is_told_from_what_was_there_before() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let (at, made) = (world.child_at("web-a"), world.child("web-a").clone());
    let mut is_ours = |labels: Value, annotations: &[(&str, &str)]| {
        world.server.edit(&at, |object| {
            object["metadata"]["labels"] = labels;
            object["metadata"]["annotations"] = made["metadata"]["annotations"].clone();
            for (name, value) in annotations {
                object["metadata"]["annotations"][*name] = json!(value);
            }
        });
        has_lost_labels(&world.server.view(&at).unwrap(), &made)
    };
    let (uid, digest) = (made["metadata"]["labels"][keys::INSTANCE_ID].clone(), keys::APPLIED_DIGEST);
    assert!(is_ours(Value::Null, &[]), "it was last applied as it is wanted");
    assert!(!is_ours(Value::Null, &[(digest, "0123456789abcdef")]), "another instance's, or as it was wanted then");
    assert!(is_ours(json!({keys::INSTANCE_ID: uid}), &[(digest, "0123456789abcdef")]), "it says whose it is");
    assert!(!is_ours(json!({keys::INSTANCE_ID: "other"}), &[(digest, "")]));
    assert!(!is_ours(Value::Null, &[(keys::ADOPTED, keys::TRUE)]), "it was there before us");
}

#[test]
fn what_was_adopted_and_loses_its_labels_stays_all_the_same() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.annotate(keys::ADOPTION, keys::RETAIN);
    let at = key("ConfigMap", "default", "web-a");
    world.server.put(at.clone(), json!({"metadata": {"name": "web-a", "namespace": "default"}}));
    world.turn();
    world.server.edit(&at, |object| object["metadata"]["labels"] = json!({}));
    world.turn();
    let told = world.told.iter().filter(|told| told.contains("was there before the instance and belongs"));
    assert_eq!(told.count(), 1);
    world.graph.clear();
    world.turn();
    assert_eq!(world.names(), ["web-a"]);
}

#[test]
fn a_kind_that_nobody_lists_is_unknown() {
    let mut world = World::new(vec![one("a", &[], 1), one("s", &[], 2).of("Service")]);
    world.turn();
    world.graph.clear();
    world.turn();
    assert_eq!(world.names(), ["web-a", "web-s"]);
    world.unserved = true;
    let at = world.at();
    world.server.delete(&at);
    assert!(world.writes().is_empty());
    assert_eq!(world.names(), ["web-a", "web-s"]);
    // Two are no better known than one.
    let mut world = World::new(vec![one("a", &[], 1), one("j", &[], 1).of("Job"), one("s", &[], 1).of("Service")]);
    world.turn();
    world.graph.clear();
    world.turn();
    assert_eq!(world.names().len(), 3);
}

#[test]
fn an_instance_with_the_label_of_its_own_set_is_no_child() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let (at, own) = (world.at(), world.id());
    world.server.edit(&at, |object| object["metadata"]["labels"][keys::APPLYSET_PART_OF] = json!(own));
    world.spec(json!({"names": {"a": "other"}}));
    let inventory = Inventory {
        group_kinds: ["ConfigMap", "Web.kro.run"].map(|kind| kind.parse().unwrap()).into(),
        ..Inventory::default()
    };
    for (name, text) in inventory.annotations(&own, "kro/v0.9.3") {
        world.annotate(name, &text);
    }
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["other"], "ACTIVE"));
    world.server.delete(&at);
    world.turn();
    assert!(world.server.objects.is_empty());
}

#[test]
fn nothing_goes_before_what_takes_its_place_is_known() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    world.unseen.insert(key("ConfigMap", "default", "new"));
    world.spec(json!({"names": {"a": "new"}}));
    assert!(world.writes().is_empty());
    world.unseen.clear();
    assert_eq!(world.writes(), ["create new", "delete web-a", "status web"]);
}
