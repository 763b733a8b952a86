//! What is applied, when, and with what on it.

use std::sync::Arc;

use broker_api::graphs::keys;
use graphs_core::{
    instance::{State, as_stored},
    labels,
};
use runtime_cel::schema::Schema;
use serde_json::{Value, json};

use crate::instance::{
    server::key,
    toy::{kind, one},
    world::{World, chain},
};

#[test]
fn a_new_chain_takes_one_write_one_for_each_child_and_one_status() {
    let mut world = World::new(chain());
    assert_eq!(world.writes(), ["patch web", "create web-a", "create web-b", "create web-c", "status web"]);
    assert_eq!(world.state(), "ACTIVE");
    assert_eq!(world.child("web-c")["data"]["from-b"], "web-b");
    assert!(world.writes().is_empty());
    world.restart();
    assert!(world.writes().is_empty());
}

#[test]
fn nodes_that_need_nothing_are_made_in_one_pass() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1)]);
    let first = world.decide();
    assert_eq!(first.writes.len(), 1);
    world.server.send(&first.writes[0]).unwrap();
    assert_eq!(world.decide().writes.len(), 2);
}

#[test]
fn drift_is_repaired_with_one_write() {
    let mut world = World::new(chain());
    world.turn();
    let at = world.child_at("web-b");
    for drift in [
        |object: &mut serde_json::Value| object["data"]["value"] = json!("other"),
        |object: &mut serde_json::Value| drop(object["data"].as_object_mut().unwrap().remove("value")),
        |object: &mut serde_json::Value| object["metadata"]["labels"]["mine"] = json!("no"),
        |object: &mut serde_json::Value| object["metadata"]["annotations"][keys::APPLY_ORDER] = json!("7"),
        |object: &mut serde_json::Value| object["metadata"]["labels"][keys::NODE_ID] = json!("c"),
    ] {
        let before = world.server.timeless();
        world.millis += 400_000;
        world.server.edit(&at, drift);
        assert_eq!(world.writes(), ["apply web-b"]);
        assert_eq!(world.server.timeless(), before);
    }
    assert!(!world.told.iter().any(|told| told.contains("was there before")), "it is ours: {:?}", world.told);
    world.server.delete(&at);
    assert_eq!(world.writes(), ["create web-b"]);
}

#[test]
fn fields_of_others_are_left_alone() {
    let mut world = World::new(chain());
    world.turn();
    let at = world.child_at("web-b");
    world.server.edit(&at, |object| {
        object["spec"] = json!({"replicas": 7});
        object["metadata"]["labels"]["other"] = json!("label");
        object["metadata"]["finalizers"] = json!(["other/finalizer"]);
    });
    assert!(world.writes().is_empty());
    world.spec(json!({"values": {"b": "new"}}));
    assert_eq!(world.writes(), ["apply web-b", "status web"]);
    assert_eq!(world.child("web-b")["spec"], json!({"replicas": 7}));
}

#[test]
fn a_field_that_left_the_template_leaves_the_child() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.spec(json!({"more": {"a": {"data": {"extra": "x"}}}}));
    world.turn();
    assert_eq!(world.child("web-a")["data"]["extra"], "x");
    world.spec(json!({}));
    world.restart();
    assert_eq!(world.writes(), ["apply web-a", "status web"]);
    assert!(world.child("web-a")["data"].get("extra").is_none());
}

#[test]
fn all_that_is_ours_is_on_a_child_and_wins() {
    let mut world = World::new(vec![one("a", &[], 4)]);
    world.version = "v0.9.3+54";
    let template = json!({"metadata": {
        "labels": {"kro.run/owned": "no", "app.kubernetes.io/managed-by": "helm", "kro.run/collection-index": "3"},
        "annotations": {"internal.kro.run/apply-order": "9", "internal.kro.run/applied-digest": "x", "my": "note",
            "kro.run/instance-name": "another", "internal.kro.run/adopted": "true"},
    }});
    world.spec(json!({"more": {"a": template}}));
    world.turn();
    let (id, uid) = (world.id(), world.instance()["metadata"]["uid"].clone());
    let metadata = &world.child("web-a")["metadata"];
    assert_eq!(
        metadata["labels"],
        json!({"mine": "yes", "kro.run/owned": "true", "kro.run/kro-version": "v0.9.3-54", "kro.run/instance-id": uid,
            "kro.run/instance-name": "web", "kro.run/instance-namespace": "default", "kro.run/instance-group": "kro.run",
            "kro.run/instance-version": "v1", "kro.run/instance-kind": "Web", "kro.run/node-id": "a",
            "app.kubernetes.io/managed-by": "kro", "applyset.kubernetes.io/part-of": id})
    );
    assert_eq!(
        (&metadata["annotations"][keys::APPLY_ORDER], &metadata["annotations"]["my"]),
        (&json!("4"), &json!("note"))
    );
    assert_eq!(metadata["annotations"][keys::APPLIED_DIGEST].as_str().unwrap().len(), 16);
    assert!(metadata["annotations"].get(keys::ADOPTED).is_none() && metadata.get("finalizers").is_none());
    assert!(metadata["annotations"].get(keys::INSTANCE_NAME).is_none(), "it would be taken for the whole of the label");
    assert_eq!(metadata["namespace"], "default");
}

#[test]
fn children_of_a_cluster_scoped_instance_name_no_namespace_in_labels() {
    let mut world = World::scoped(vec![one("a", &[], 1), one("n", &[], 1).of("Namespace")], "");
    world.spec(json!({"namespaces": {"a": "far"}}));
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
    assert!(world.child("web-a")["metadata"]["labels"].get(keys::INSTANCE_NAMESPACE).is_none());
    assert!(world.child("web-n")["metadata"].get("namespace").is_none());
    assert_eq!(world.instance()["metadata"]["annotations"][keys::APPLYSET_NAMESPACES], "far");
}

#[test]
fn a_long_value_of_a_label_is_cut_and_whole_in_an_annotation() {
    let long: &'static str = Box::leak("x".repeat(64).into_boxed_str());
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.graph[0].id = long;
    world.turn();
    let metadata = &world.child(&format!("web-{long}"))["metadata"];
    assert_eq!(metadata["labels"][keys::NODE_ID], *labels::value(long).value);
    assert_eq!(metadata["annotations"][keys::NODE_ID], long);
}

#[test]
fn items_of_a_collection_know_their_place() {
    let mut world = World::new(vec![one("a", &[], 1).collection(), one("b", &["a"], 2)]);
    world.spec(json!({"counts": {"a": 3}}));
    assert_eq!(
        world.writes(),
        ["patch web", "create web-a-0", "create web-a-1", "create web-a-2", "create web-b", "status web"]
    );
    let place = |world: &World, name: &str| {
        let labels = world.child(name)["metadata"]["labels"].clone();
        (labels[keys::COLLECTION_INDEX].clone(), labels[keys::COLLECTION_SIZE].clone())
    };
    assert_eq!(place(&world, "web-a-2"), (json!("2"), json!("3")));
    assert_eq!(place(&world, "web-b"), (json!(null), json!(null)));
    world.spec(json!({"counts": {"a": 2}}));
    world.turn();
    assert_eq!(world.names(), ["web-a-0", "web-a-1", "web-b"]);
    assert_eq!(place(&world, "web-a-1"), (json!("1"), json!("2")));
    // Drift of any item, not only of the last.
    let at = world.child_at("web-a-0");
    world.server.delete(&at);
    assert_eq!(world.writes(), ["create web-a-0"]);
    world.spec(json!({"counts": {"a": 0}}));
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web-b"], "ACTIVE"));
    assert!(world.writes().is_empty());
}

#[test]
fn what_depends_on_a_node_waits_until_it_is_there_and_ready() {
    let mut world = World::new(chain());
    world.server.refuses.insert("web-b".into(), "no".into());
    world.turn();
    world.server.refuses.clear();
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "no"}));
    world.settle();
    assert_eq!(world.names(), ["web-a"]);
    assert!(
        world
            .condition("ResourcesReady")
            .2
            .starts_with("awaiting resource readiness: a: not ready yet; waiting for unresolved")
    );
    assert_eq!(world.state(), "IN_PROGRESS");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "yes"}));
    world.settle();
    assert_eq!((world.names(), world.state()), (vec!["web-a", "web-b", "web-c"], "ACTIVE"));
    // The last node counts, too.
    let at = world.child_at("web-c");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "no"}));
    world.settle();
    assert_eq!(world.state(), "IN_PROGRESS");
}

#[test]
fn a_dependent_is_not_changed_while_what_it_needs_is_not_ready() {
    let mut world = World::new(chain());
    world.turn();
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "no"}));
    world.spec(json!({"values": {"b": "new"}}));
    assert_eq!(world.writes(), ["status web"]);
}

#[test]
fn what_is_unresolved_waits_and_its_neighbours_go_on() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1), one("c", &["b"], 2)]);
    world.spec(json!({"wait": {"b": "no such key: x"}}));
    world.turn();
    assert_eq!(world.names(), ["web-a"]);
    let (_, reason, message) = world.condition("ResourcesReady");
    assert_eq!(reason, "NotReady");
    assert!(message.starts_with("awaiting resource readiness: waiting for unresolved resource: b: no such key: x"));
    assert_eq!(world.state(), "IN_PROGRESS");
    assert!(world.writes().is_empty());
}

#[test]
fn an_error_stops_its_node_and_dependents_only() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1), one("c", &["b"], 2)]);
    world.spec(json!({"fail": {"b": "division by zero"}}));
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web-a"], "ERROR"));
    assert_eq!(world.condition("ResourcesReady"), ("False", "NotReady", "resource error: b: division by zero"));
    assert_eq!(world.condition("GraphResolved").0, "True");
    world.spec(json!({}));
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["status"] = json!({"ready": "error"}));
    world.turn();
    assert_eq!((world.state(), world.condition("Ready").2), ("ERROR", "resource error: a: readyWhen failed"));
}

#[test]
fn what_a_server_refuses_is_told_and_tried_again_and_others_go_on() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1)]);
    world.server.refuses.insert("web-a".into(), "denied by webhook".into());
    let decision = world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web-b"], "ERROR"));
    let said = "resource reconciliation failed: ConfigMap web-a: denied by webhook".replace("web-a", "default/web-a");
    assert_eq!(world.condition("ResourcesReady"), ("False", "NotReady", said.as_str()));
    assert!(decision.again.is_some() || world.decide().again.is_some());
    assert!(world.writes().is_empty());
    world.server.refuses.clear();
    world.millis += 5_000;
    assert_eq!(world.writes(), ["create web-a", "status web"]);
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn a_new_version_of_the_controller_is_no_reason_to_write() {
    let mut world = World::new(chain());
    world.turn();
    world.version = "v1.0.0";
    world.restart();
    assert!(world.writes().is_empty());
    world.spec(json!({"values": {"a": "new"}}));
    world.writes();
    assert_eq!(world.child("web-a")["metadata"]["labels"][keys::VERSION], "v1.0.0");
    assert_eq!(world.child("web-b")["metadata"]["labels"][keys::VERSION], "v0.9.3");
}

#[test]
fn what_an_earlier_owner_applied_is_written_only_if_the_revision_changed_since() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let at = world.child_at("web-a");
    let strip = |object: &mut serde_json::Value| {
        object["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::APPLIED_DIGEST);
    };
    world.server.edit(&at, strip);
    world.inherited = true;
    assert!(world.writes().is_empty());
    world.inherited = false;
    assert_eq!(world.writes(), ["apply web-a"]);
}

#[test]
fn what_a_kind_makes_of_a_child_is_written_once_more_and_then_left() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.server.shout();
    assert_eq!(world.writes(), ["patch web", "create web-a", "apply web-a", "status web"]);
    assert_eq!(world.state(), "ACTIVE");
    assert!(world.writes().is_empty());
    // Real drift is still seen.
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["data"]["value"] = json!("drift"));
    assert_eq!(world.writes(), ["apply web-a"]);
    assert!(world.writes().is_empty());
}

#[test]
fn a_fight_slows_down_and_is_told() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &["a"], 2)]);
    world.turn();
    let at = world.child_at("web-a");
    let mut written = 0;
    for round in 0..20 {
        world.server.edit(&at, |object| object["data"]["value"] = json!(format!("theirs {round}")));
        written += world.writes().len();
    }
    assert!((3..6).contains(&written), "{written}");
    assert!(world.told.iter().any(|told| told.contains("ConfigMap default/web-a back")), "{:?}", world.told);
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn texts_of_a_secret_and_quantities_are_compared_as_they_are_stored() {
    let mut world = World::new(vec![one("s", &[], 1).of("Secret"), one("d", &[], 1).of("Deployment")]);
    let cpu = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
    let spec = json!({"type": "object", "properties": {"cpu": cpu}});
    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "data": open}});
    world.graph[1].schema = Some(Arc::new(Schema::compile(&schema)));
    world.spec(json!({"more": {"s": {"stringData": {"key": "text"}}, "d": {"spec": {"cpu": "1000m"}}}}));
    world.turn();
    let (secret, deployment) = (world.child_at("web-s"), world.child_at("web-d"));
    assert_eq!(world.child("web-s")["data"]["key"], "dGV4dA==");
    world.server.edit(&deployment, |object| object["spec"]["cpu"] = json!("1"));
    world.restart();
    assert!(world.writes().is_empty());
    world.server.edit(&secret, |object| object["data"]["key"] = json!("b3RoZXI="));
    world.server.edit(&deployment, |object| object["spec"]["cpu"] = json!("2"));
    assert_eq!(world.writes(), ["apply web-s", "apply web-d"]);
}

/// API servers make null of a map of which nothing is left, and refuse that: it is taken away first.
#[test]
fn a_map_that_is_emptied() {
    let mut world = World::new(vec![one("d", &[], 1).of("Deployment")]);
    let marks = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"marks": marks}},
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    world.graph[0].schema = Some(Arc::new(Schema::compile(&schema)));
    world.server.know(&kind("Deployment"), schema);
    world.spec(json!({"more": {"d": {"spec": {"marks": {"a": "1"}}}}}));
    world.turn();
    world.spec(json!({"more": {"d": {"spec": {"marks": {}}}}}));
    // Of this kind an empty map is none.
    assert_eq!(world.writes(), ["apply web-d", "status web"]);
    assert!(world.child("web-d").get("spec").is_none());
    assert!(world.writes().is_empty());
}

#[test]
fn a_status_in_a_template_is_not_compared() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.spec(json!({"more": {"a": {"status": {"x": 1}}}}));
    world.turn();
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| object["status"] = json!({"x": 2}));
    assert!(world.writes().is_empty());
}

#[test]
fn what_is_unknown_is_never_absent() {
    let mut world = World::new(vec![one("a", &[], 1), one("d", &[], 1).of("Deployment")]);
    world.unknown.insert("Deployment");
    assert_eq!(world.writes(), ["patch web", "create web-a"]);
    assert_eq!(world.turn().state, State::Unknown);
    assert!(world.status().is_null());
    world.trouble = Some("deployments are forbidden");
    world.turn();
    assert_eq!((world.state(), world.condition("Ready").2), ("ERROR", "resource error: d: deployments are forbidden"));
    world.unknown.clear();
    world.trouble = None;
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
    world.unknown.insert("Web");
    assert_eq!(world.turn().state, State::Unknown);
    world.unknown.clear();
    world.server.objects.remove(&key("Web", "default", "web"));
    assert_eq!(world.turn().state, State::Gone);
}

#[test]
fn what_cannot_be_read_is_not_written_over() {
    let mut world = World::new(chain());
    world.turn();
    world.spec(json!({"values": {"a": "new"}}));
    let at = world.child_at("web-a");
    world.unread.insert(at);
    assert_eq!(world.writes(), ["status web"]);
    assert_eq!(world.state(), "ERROR");
    world.unread = [world.at()].into();
    assert!(world.writes().is_empty());
    world.unread.clear();
    world.turn();
    assert_eq!((world.state(), &world.child("web-a")["data"]["value"]), ("ACTIVE", &json!("new")));
}

#[test]
fn empty_values_are_not_missed_where_they_are_never_stored() {
    for (kind, again) in [("Deployment", vec![]), ("Web", vec!["apply web-a"])] {
        let mut world = World::new(vec![one("a", &[], 1).of(kind)]);
        let empty = json!({"off": false, "none": [], "text": "", "zero": 0, "all": {"text": ""}});
        world.spec(json!({"more": {"a": {"spec": empty}}}));
        world.turn();
        world.restart();
        let at = key(kind, "default", "web-a");
        world.server.edit(&at, |object| drop(object.as_object_mut().unwrap().remove("spec")));
        assert_eq!(world.writes(), again, "{kind}");
        world.restart();
        world.server.edit(&at, |object| object["spec"] = json!({}));
        assert_eq!(world.writes(), again, "{kind}, with less in it");
        for (field, value) in [("off", json!(true)), ("none", json!(["x"])), ("text", json!("x")), ("zero", json!(1))] {
            world.restart();
            world.server.edit(&at, |object| object["spec"] = json!({field: value}));
            assert_eq!(world.writes(), ["apply web-a"], "{kind} {field}");
        }
    }
}

#[test]
fn only_a_secret_has_its_texts_stored_as_data() {
    let stored = |version: &str, kind: &str| {
        let object = json!({"apiVersion": version, "kind": kind, "stringData": {"k": "text"}});
        as_stored(&object, &Schema::any(), false, &Value::Null)
    };
    assert_eq!(stored("v1", "Secret"), json!({"data": {"k": "dGV4dA=="}}));
    for (version, kind) in [("v1", "ConfigMap"), ("example.com/v1", "Secret")] {
        assert_eq!(stored(version, kind), json!({"stringData": {"k": "text"}}), "{kind} of {version}");
    }
}

#[test]
fn empty_values_in_a_list_are_not_missed_either() {
    let object = json!({"spec": {"ports": [{"name": "a", "host": "", "node": 0}, {"name": "b", "host": ""}]}});
    let stored = json!({"spec": {"ports": [{"name": "a", "node": 0}, {"name": "b", "host": ""}]}});
    assert_eq!(as_stored(&object, &Schema::any(), true, &stored), stored);
}
