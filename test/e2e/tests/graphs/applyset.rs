//! The inventory of an instance's children, and whose children are whose.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use e2e::{
    Object,
    kind::{CONFIG_MAP, SECRET},
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    CALM,
    kinds::{is_active, kind},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

fn sha(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

fn secret(id: &str, name: &str) -> Node {
    let template = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": "b"}});
    Node::new(id, template)
}

/// Panics unless the inventory of an instance is exactly this.
fn assert_inventory(seen: &Object, kinds: &str, namespaces: &str) {
    let (name, namespace) = (seen.name(), seen.namespace());
    let (group, _) = seen.text("/apiVersion").split_once('/').unwrap();
    let id = format!("applyset-{}-v1", sha(&format!("{name}.{namespace}.{}.{group}", seen.text("/kind"))));
    assert_eq!(seen.label("applyset.kubernetes.io/id"), Some(id.as_str()), "{seen}");
    assert!(seen.annotation("applyset.kubernetes.io/tooling").unwrap().starts_with("kro/"), "{seen}");
    assert_eq!(seen.annotation(KINDS), Some(kinds), "{seen}");
    assert_eq!(seen.annotation(NAMESPACES), Some(namespaces), "{seen}");
    let hash = format!("sha256:{}", sha(&format!("{id}\0{kinds}\0{namespaces}")));
    assert_eq!(seen.annotation("internal.kro.run/applyset-inventory-hash"), Some(hash.as_str()), "{seen}");
}

#[test]
fn the_inventory_of_an_instance_is_exact() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "applyset-exact").await;
        let mut rgd = Rgd::new("WebApp")
            .node(Node::config("here", "applyset-here", json!({})))
            .node(Node::config("there", "applyset-there", json!({})).meta("namespace", json!("applyset-exact")))
            .node(secret("secret", "applyset-secret"));
        rgd.groupless = true;
        let kind = scene.define(&rgd).await;
        stage.place.create(&kind, "default", "web", json!({})).await;
        let seen = stage.place.until(&kind, "default", "web", "to be ACTIVE", crate::kinds::is_active).await;
        let known = "applyset-P1j6BayKAYKZX-mU7IWpBaTymLALAGPktgHAsTT6uGE-v1";
        assert_eq!(seen.label("applyset.kubernetes.io/id"), Some(known));
        assert_inventory(&seen, "ConfigMap,Secret", "applyset-exact");
        let child = stage.place.get(&CONFIG_MAP, "applyset-exact", "applyset-there").await;
        assert_eq!(child.label("applyset.kubernetes.io/part-of"), Some(known));
        stage.place.delete(&kind, "default", "web").await;
        stage.place.until_gone(&kind, "default", "web").await;
        assert!(scene.configs().await.is_empty(), "children in other namespaces go with it");
        assert!(stage.place.find(&SECRET, "default", "applyset-secret").await.is_none());
    });
}

#[test]
fn the_inventory_grows_and_shrinks_with_the_graph() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "applyset-grows").await;
        let small = Rgd::new("Grow").node(Node::config("config", "grow", json!({})));
        let kind = scene.define(&small).await;
        let marks = json!({"metadata": {"labels": {"team": "a"}, "annotations": {"note": "mine"}}, "spec": {}});
        stage.place.create(&kind, scene.ns(), "grow", marks).await;
        assert_inventory(&scene.active(&kind, "grow").await, "ConfigMap", "");

        scene.define(&small.clone().node(secret("secret", "grow"))).await;
        scene.until(&SECRET, "grow", "to be there", |_| true).await;
        let grown = |seen: &Object| seen.annotation(KINDS) == Some("ConfigMap,Secret");
        assert_inventory(&scene.until(&kind, "grow", "to have grown", grown).await, "ConfigMap,Secret", "");

        scene.define(&small).await;
        scene.gone(&SECRET, "grow").await;
        let shrunk = |seen: &Object| seen.annotation(KINDS) == Some("ConfigMap");
        let seen = scene.until(&kind, "grow", "to have shrunk", shrunk).await;
        assert_inventory(&seen, "ConfigMap", "");
        assert_eq!((seen.label("team"), seen.annotation("note")), (Some("a"), Some("mine")), "{seen}");
        assert_eq!(seen.generation(), 1);
    });
}

#[test]
fn a_field_that_leaves_the_template_leaves_the_child() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "field-leaves").await;
        let full = Rgd::new("Field").node(Node::config("config", "field", json!({"keep": "1", "leave": "2"})));
        let kind = scene.define(&full).await;
        scene.bring_up(&kind, "field", json!({})).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "field", json!({"data": {"theirs": "3"}})).await;
        let less = Rgd::new("Field").node(Node::config("config", "field", json!({"keep": "1"})));
        scene.define(&less).await;
        let left = |seen: &Object| seen.at("/data") == &json!({"keep": "1", "theirs": "3"});
        scene.until(&CONFIG_MAP, "field", "what is no longer wanted to leave", left).await;
    });
}

/// API servers refuse to make `{}` of a map whose entries were all the applier's.
#[test]
fn a_map_of_a_child_may_become_empty() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "emptied-map").await;
        let leaf = kind("emptied-map.test", "Leaf", "leaves");
        let marks = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let spec = json!({"type": "object", "properties": {"marks": marks}});
        stage.place.apply(&leaf.crd_with(&json!({"spec": spec}), false).to_string()).await;
        rights::grant(&stage.place, "emptied-map-children", vec![rights::children(&leaf)]).await;
        let template = leaf.object("", "leaf", &json!({"spec": {"marks": "${schema.spec.marks}"}}));
        let tree = Rgd::new("Tree").spec(json!({"marks": "map[string]string"})).node(Node::new("leaf", template));
        let tree = scene.define(&tree).await;
        scene.bring_up(&tree, "x", json!({"marks": {"a": "1", "b": "2"}})).await;
        scene.edit(&tree, "x", json!({"marks": {"a": null, "b": null}})).await;
        scene.until(&leaf, "leaf", "an empty map", |seen| seen.at("/spec") == &json!({"marks": {}})).await;
        scene.until(&tree, "x", "to be ACTIVE", is_active).await;
    });
}

#[test]
fn children_of_others_are_never_pruned() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "others-children").await;
        let node = |id: &str| Node::config(id, &format!("${{schema.metadata.name}}-{id}"), json!({}));
        let both = |kind: &str| {
            Rgd::new(kind)
                .spec(json!({"extra": "boolean | default=true"}))
                .node(node("a"))
                .node(node("b").include_when("${schema.spec.extra}"))
        };
        let one = scene.define(&both("One")).await;
        let two = scene.define(&both("Other")).await;
        for (kind, name) in [(&one, "x"), (&one, "y"), (&two, "z")] {
            scene.bring_up(kind, name, json!({})).await;
        }
        scene.make_config("mine", json!({"not": "theirs"})).await;
        scene.edit(&one, "x", json!({"extra": false})).await;
        scene.configs_are(&["mine", "x-a", "y-a", "y-b", "z-a", "z-b"]).await;
        scene.delete(&one, "x").await;
        scene.gone(&one, "x").await;
        scene.configs_are(&["mine", "y-a", "y-b", "z-a", "z-b"]).await;
    });
}
