//! Objects of others, external references, children on their way out, two of one name.

use broker_api::graphs::keys;
use graphs_core::instance::Form;
use serde_json::json;

use crate::instance::{
    server::key,
    toy::one,
    world::{World, chain},
};

#[test]
fn a_child_of_another_set_is_never_touched() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &["a"], 2), one("c", &[], 1)]);
    let at = key("ConfigMap", "default", "web-a");
    let theirs =
        json!({"metadata": {"name": "web-a", "namespace": "default", "labels": {keys::APPLYSET_PART_OF: "other-set"}}});
    world.server.put(at.clone(), theirs);
    let before = world.server.objects[&at].clone();
    world.turn();
    assert_eq!(world.server.objects[&at], before);
    assert_eq!((world.names(), world.state()), (vec!["web-a", "web-c"], "ERROR"));
    let said = format!(
        "resource reconciliation failed: resource belongs to a different ApplySet: default/web-a (/v1, Kind=ConfigMap) \
         belongs to ApplySet \"other-set\", cannot reassign to \"{}\"",
        world.id()
    );
    assert_eq!(world.condition("ResourcesReady"), ("False", "NotReady", said.as_str()));
    assert!(world.writes().is_empty());
    world.server.objects.remove(&at);
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn two_nodes_of_one_object_apply_nothing_and_prune_nothing() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1), one("c", &[], 1)]);
    world.turn();
    world.spec(json!({"names": {"a": "same", "b": "same", "c": "new"}}));
    assert_eq!(world.writes(), ["status web"]);
    assert_eq!(world.names(), ["web-a", "web-b", "web-c"]);
    assert_eq!(
        world.condition("ResourcesReady").2,
        "resource reconciliation failed: found resources with conflicts: resourceID: a conflicts with resourceID: b"
    );
    assert_eq!(world.state(), "ERROR");
    // Of other kinds, or in other namespaces, they are two.
    world.spec(json!({"names": {"a": "same", "b": "same"}, "namespaces": {"b": "far"}}));
    world.turn();
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn an_instance_does_not_render_itself() {
    let mut world = World::new(vec![one("a", &[], 1).of("Web")]);
    world.spec(json!({"names": {"a": "web"}}));
    world.turn();
    assert_eq!(world.state(), "ERROR");
    assert!(world.condition("Ready").2.contains("renders the instance itself"));
    // Of another kind, of the same group or not, it is another object.
    let mut world = World::new(vec![one("a", &[], 1), one("s", &[], 1).of("Site")]);
    world.spec(json!({"names": {"a": "web", "s": "web"}}));
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web", "web"], "ACTIVE"));
}

#[test]
fn a_namespace_must_be_stated_under_a_cluster_scoped_instance_and_not_for_cluster_scoped_children() {
    let mut world = World::scoped(vec![one("a", &[], 1), one("n", &[], 1).of("Namespace")], "");
    world.spec(json!({"namespaces": {"n": "far"}}));
    world.turn();
    assert_eq!((world.state(), world.names().len()), ("ERROR", 0));
    let said = world.condition("Ready").2;
    assert!(
        said.contains("node a is namespaced and must resolve metadata.namespace when the instance is cluster-scoped")
    );
    assert!(said.contains("node n is cluster-scoped and must not have metadata.namespace"));
}

#[test]
fn a_child_that_is_being_deleted_is_waited_for_and_then_made_again() {
    let mut world = World::new(chain());
    world.server.refuses.insert("web-b".into(), "no".into());
    world.turn();
    world.server.refuses.clear();
    world.millis += 5_000;
    let at = world.child_at("web-a");
    world.server.edit(&at, |object| {
        object["metadata"]["finalizers"] = json!(["slow/one"]);
        object["metadata"]["deletionTimestamp"] = json!("now");
        object["data"] = json!({});
    });
    world.settle();
    assert_eq!((world.names(), world.state()), (vec!["web-a"], "IN_PROGRESS"));
    let (status, reason, message) = world.condition("ResourcesReady");
    assert_eq!((status, reason), ("False", "ResourceDeleting"));
    assert!(message.starts_with("resource \"default/web-a\" for node \"a\" is currently being deleted; waiting"));
    world.server.objects.remove(&at);
    assert_eq!(world.writes(), ["create web-a", "create web-b", "create web-c", "status web"]);
}

#[test]
fn a_reference_is_read_and_never_written() {
    let mut reference = one("ref", &[], 1);
    reference.form = Form::Reference;
    let mut world = World::new(vec![reference, one("b", &["ref"], 2), one("c", &[], 1)]);
    world.spec(json!({"names": {"ref": "theirs"}}));
    world.turn();
    assert_eq!((world.names(), world.state()), (vec!["web-c"], "IN_PROGRESS"));
    assert!(world.condition("Ready").2.contains("waiting for external reference \"ref\": not found"));
    let at = key("ConfigMap", "default", "theirs");
    world.server.put(at.clone(), json!({"metadata": {"name": "theirs", "namespace": "default"}}));
    let before = world.server.objects[&at].clone();
    assert_eq!(world.writes(), ["create web-b", "status web"]);
    assert_eq!(world.state(), "ACTIVE");
    let instance = world.at();
    world.server.delete(&instance);
    world.turn();
    assert_eq!((world.server.objects.len(), &world.server.objects[&at]), (1, &before));
}

#[test]
fn nothing_is_pruned_while_a_reference_is_not_found() {
    let mut reference = one("ref", &[], 1);
    reference.form = Form::Reference;
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    world.graph = vec![reference];
    world.turn();
    assert_eq!(world.names(), ["web-a"]);
}

#[test]
fn a_selection_is_ready_whatever_it_finds() {
    let mut selection = one("all", &[], 1);
    selection.form = Form::Selection;
    let mut world = World::new(vec![selection]);
    world.turn();
    assert_eq!((world.names().len(), world.state()), (0, "ACTIVE"));
}

#[test]
fn a_reference_of_a_kind_that_is_not_known_is_unknown() {
    let mut reference = one("ref", &[], 1);
    reference.form = Form::Reference;
    let mut world = World::new(vec![reference]);
    world.unknown.insert("ConfigMap");
    assert_eq!(world.writes(), ["patch web"]);
}

#[test]
fn each_child_that_is_refused_waits_by_itself() {
    let mut world = World::new(vec![one("a", &[], 1), one("b", &[], 1), one("c", &[], 1)]);
    for name in ["web-a", "web-b"] {
        world.server.refuses.insert(name.into(), "no right".into());
    }
    let decision = world.turn();
    assert!(decision.again.is_some());
    assert_eq!((world.names(), world.state()), (vec!["web-c"], "ERROR"));
    let said = world.condition("ResourcesReady").2;
    assert!(said.contains("web-a: no right") && said.contains("web-b: no right"), "{said}");
}
