//! The end of instances: waves, what holds them up, what is nested.

use e2e::{Object, Recording, kind::CONFIG_MAP};
use serde_json::json;

use crate::{
    CALM,
    kinds::{FINALIZER, SERVICE},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

fn hold(on: bool) -> serde_json::Value {
    json!({"metadata": {"finalizers": if on { json!(["kro.test/hold"]) } else { json!(null) }}})
}

#[test]
fn higher_waves_are_gone_before_lower_ones_go() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "deletion-waves").await;
        let after = |id: &str, of: &str| Node::config(id, id, json!({"uid": format!("${{{of}.metadata.uid}}")}));
        let rgd = Rgd::new("Waved")
            .node(Node::config("a", "a", json!({})))
            .node(after("b", "a"))
            .node(after("c", "b"))
            .node(Node::config("d", "d", json!({})));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({})).await;
        for (name, wave) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "3")] {
            let seen = scene.config(name).await;
            assert_eq!(seen.annotation("internal.kro.run/apply-order"), Some(wave), "{seen}");
        }
        for name in ["b", "c"] {
            stage.place.edit(&CONFIG_MAP, scene.ns(), name, hold(true)).await;
        }
        let recording = Recording::begin(&stage.place, &kind, scene.ns()).await;
        scene.delete(&kind, "x").await;
        scene.gone(&CONFIG_MAP, "d").await;
        let says = |seen: &Object| {
            seen.text("/status/state") == "DELETING"
                && seen.condition("ResourcesReady").is_some_and(|told| {
                    told.status == "Unknown" && told.reason == "UnderDeletion" && told.message.contains("kro.test/hold")
                })
        };
        let seen = scene.until(&kind, "x", "to name what holds it up", says).await;
        assert!(seen.condition("ResourcesReady").unwrap().message.contains("deleting resources"), "{seen}");
        assert!(scene.config("c").await.is_deleting() && !scene.config("b").await.is_deleting());
        stage.place.edit(&CONFIG_MAP, scene.ns(), "c", hold(false)).await;
        scene.until(&CONFIG_MAP, "b", "to be deleted", Object::is_deleting).await;
        assert!(!scene.config("a").await.is_deleting());
        stage.place.edit(&CONFIG_MAP, scene.ns(), "b", hold(false)).await;
        scene.gone(&kind, "x").await;
        assert!(scene.configs().await.is_empty());
        let states = recording.course("x", |seen| seen.text("/status/state").to_owned()).await;
        assert_eq!(states.last().map(String::as_str), Some("DELETING"), "{states:?}");
    });
}

#[test]
fn a_broken_inventory_blocks_and_says_what_to_repair() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "deletion-blocked").await;
        let kind = scene.define(&Rgd::new("Blocked").node(Node::config("config", "config", json!({})))).await;
        let before = scene.bring_up(&kind, "x", json!({})).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "config", hold(true)).await;
        scene.delete(&kind, "x").await;
        scene.until(&CONFIG_MAP, "config", "to be deleted", Object::is_deleting).await;
        let key = "applyset.kubernetes.io/contains-group-kinds";
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": {"annotations": {key: "Secret"}}})).await;
        let blocked = |seen: &Object| {
            let told = seen.condition("ResourcesReady");
            told.is_some_and(|told| told.status == "Unknown" && told.message.starts_with("deletion blocked: "))
        };
        let seen = scene.until(&kind, "x", "to be blocked", blocked).await;
        assert!(seen.finalizers().contains(&FINALIZER), "{seen}");
        assert_eq!(seen.text("/status/state"), "DELETING", "{seen}");
        stage.place.edit(&CONFIG_MAP, scene.ns(), "config", hold(false)).await;
        scene.gone(&CONFIG_MAP, "config").await;
        let right = before.annotation(key).unwrap();
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": {"annotations": {key: right}}})).await;
        scene.gone(&kind, "x").await;
    });
}

#[test]
fn a_tree_of_instances_goes_from_its_leaves() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "deletion-tree").await;
        let leaf = Rgd::new("Blade").status(json!({"uid": "${config.metadata.uid}"})).node(Node::config(
            "config",
            "${schema.metadata.name}",
            json!({}),
        ));
        let leaf = scene.define(&leaf).await;
        let nest = |id: &str, kind: &e2e::Kind| {
            let metadata = json!({"name": "${schema.metadata.name}"});
            let template =
                json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "spec": {}});
            Node::new(id, template).ready_when(&format!("${{{id}.status.state == \"ACTIVE\"}}"))
        };
        let branch = Rgd::new("Twig").status(json!({"uid": "${leaf.status.uid}"})).node(nest("leaf", &leaf));
        let branch = scene.define(&branch).await;
        let trunk = Rgd::new("Trunk").status(json!({"uid": "${branch.status.uid}"})).node(nest("branch", &branch));
        let trunk = scene.define(&trunk).await;
        for child in [&leaf, &branch] {
            let role = format!("deletion-tree-child-{}", child.plural);
            rights::grant(&stage.place, &role, vec![rights::children(child)]).await;
        }
        let seen = scene.bring_up(&trunk, "x", json!({})).await;
        assert_eq!(seen.text("/status/uid"), scene.config("x").await.uid());
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", hold(true)).await;
        scene.delete(&trunk, "x").await;
        for kind in [&trunk, &branch, &leaf] {
            let deleting = |seen: &Object| seen.text("/status/state") == "DELETING";
            scene.until(kind, "x", "to be DELETING", deleting).await;
        }
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", hold(false)).await;
        for kind in [&trunk, &branch, &leaf, &CONFIG_MAP] {
            scene.gone(kind, "x").await;
        }
    });
}

#[test]
fn an_adopted_child_is_told_and_can_be_retained() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "deletion-adopted").await;
        let rgd = Rgd::new("Adopter").node(Node::config("config", "${schema.metadata.name}", json!({"a": "ours"})));
        let kind = scene.define(&rgd).await;
        for name in ["x", "y"] {
            scene.make_config(name, json!({"theirs": "1"})).await;
        }
        scene.bring_up(&kind, "x", json!({})).await;
        let retain = json!({"metadata": {"annotations": {"kro.run/adoption": "Retain"}}, "spec": {}});
        stage.place.create(&kind, scene.ns(), "y", retain).await;
        scene.active(&kind, "y").await;
        for name in ["x", "y"] {
            let seen = scene.config(name).await;
            assert_eq!(seen.at("/data"), &json!({"a": "ours", "theirs": "1"}));
            assert_eq!(seen.annotation("internal.kro.run/adopted"), Some("true"), "{seen}");
        }
        stage.place.until_event(scene.ns(), "x", "Adopted", |told| told.message.contains("ConfigMap")).await;
        for name in ["x", "y"] {
            scene.delete(&kind, name).await;
            scene.gone(&kind, name).await;
        }
        assert_eq!(scene.configs().await, ["y"]);
        let kept = scene.config("y").await;
        assert_eq!((kept.label("kro.run/owned"), kept.label("applyset.kubernetes.io/part-of")), (None, None), "{kept}");
    });
}

#[test]
fn a_child_that_is_being_deleted_stops_what_comes_after_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "terminating-child").await;
        let rgd = Rgd::new("Stopped")
            .spec(json!({"more": "boolean | default=false"}))
            .node(Node::service("service", "service"))
            .node(
                Node::config("after", "after", json!({"uid": "${service.metadata.uid}"}))
                    .include_when("${schema.spec.more}"),
            );
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({})).await;
        let before = stage.place.edit(&SERVICE, scene.ns(), "service", hold(true)).await;
        scene.delete(&SERVICE, "service").await;
        let waits = "resource \"terminating-child/service\" for node \"service\" is currently being deleted; waiting";
        let seen = scene.waits(&kind, "x", waits).await;
        assert!(seen.has("ResourcesReady", "False", "ResourceDeleting"), "{seen}");
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS");
        scene.edit(&kind, "x", json!({"more": true})).await;
        let says = |seen: &Object| seen.at("/status/conditions/2/observedGeneration") == 2;
        scene.until(&kind, "x", "the edit", says).await;
        assert!(scene.configs().await.is_empty(), "nothing new downstream");
        stage.place.edit(&SERVICE, scene.ns(), "service", hold(false)).await;
        scene.active(&kind, "x").await;
        let made = stage.place.get(&SERVICE, scene.ns(), "service").await;
        assert_ne!(made.uid(), before.uid());
        assert_eq!(scene.config("after").await.text("/data/uid"), made.uid());
    });
}

#[test]
fn an_instance_that_is_made_again_gets_children_of_its_own() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "made-again").await;
        let data = json!({"uid": "${schema.metadata.uid}"});
        let kind = scene.define(&Rgd::new("Bird").node(Node::config("config", "config", data))).await;
        for _ in 0..3 {
            let seen = scene.bring_up(&kind, "x", json!({})).await;
            assert_eq!(scene.config("config").await.text("/data/uid"), seen.uid());
            scene.delete(&kind, "x").await;
            scene.gone(&kind, "x").await;
            assert!(scene.configs().await.is_empty());
        }
    });
}
