//! `includeWhen`, and the pruning of what is no longer wanted.

use e2e::kind::CONFIG_MAP;
use serde_json::{Value, json};

use crate::{
    CALM,
    kinds::SERVICE,
    rgd::{Node, Rgd},
    scene::Scene,
};

/// A node with an expression that decides on it, one that depends on that, and one that does not.
fn decided(kind: &str, expression: &str) -> Rgd {
    Rgd::new(kind)
        .node(Node::config("optional", "optional", json!({})).include_when(expression))
        .node(Node::config("after", "after", json!({"uid": "${optional.metadata.uid}"})))
        .node(Node::config("other", "other", json!({})))
}

fn balanced(ip: &str) -> Value {
    json!({"loadBalancer": {"ingress": [{"ip": ip}]}})
}

#[test]
fn what_is_not_included_is_never_made_and_neither_is_what_depends_on_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "include-false").await;
        let rgd = decided("Off", "${schema.spec.on}").spec(json!({"on": "boolean | default=false"}));
        let kind = scene.define(&rgd).await;
        let mark = stage.mark().await;
        scene.bring_up(&kind, "off", json!({})).await;
        assert_eq!(scene.configs().await, ["other"]);
        let made = scene.requests(mark).await.writes().on("configmaps");
        assert_eq!(made.len(), 1, "nothing else was ever made: {made:?}");
        scene.edit(&kind, "off", json!({"on": true})).await;
        scene.configs_are(&["after", "optional", "other"]).await;
        scene.active(&kind, "off").await;
        scene.edit(&kind, "off", json!({"on": false})).await;
        scene.configs_are(&["other"]).await;
        scene.active(&kind, "off").await;
    });
}

#[test]
fn all_expressions_have_to_be_true() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "include-all").await;
        let rgd = Rgd::new("Both").spec(json!({"a": "boolean", "b": "boolean"})).node(
            Node::config("config", "config", json!({}))
                .include_when("${schema.spec.?a.orValue(false)}")
                .include_when("${schema.spec.?b}"),
        );
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "both", json!({"a": true})).await;
        assert!(scene.configs().await.is_empty(), "an empty optional is false");
        scene.edit(&kind, "both", json!({"b": true})).await;
        scene.configs_are(&["config"]).await;
    });
}

#[test]
fn another_resource_decides() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "include-resource").await;
        let metadata = json!({"name": "switch"});
        let rgd = decided("Switched", "${toggle.data.on == \"yes\"}").node(Node::external(
            "toggle",
            "v1",
            "ConfigMap",
            metadata,
        ));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "switched", json!({})).await;
        scene.configs_are(&["other"]).await;
        scene.waits(&kind, "switched", "waiting for external reference").await;
        scene.make_config("switch", json!({"on": "no"})).await;
        scene.active(&kind, "switched").await;
        assert_eq!(scene.configs().await, ["other", "switch"]);
        for (on, names) in [("yes", &["after", "optional", "other", "switch"][..]), ("no", &["other", "switch"])] {
            stage.place.edit(&CONFIG_MAP, scene.ns(), "switch", json!({"data": {"on": on}})).await;
            scene.configs_are(names).await;
            scene.active(&kind, "switched").await;
        }
    });
}

#[test]
fn the_status_of_a_resource_decides_and_pending_is_not_false() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "include-status").await;
        let ip = "${service.status.loadBalancer.ingress[0].ip == \"10.0.0.1\"}";
        let rgd = decided("Balanced", ip).node(Node::service("service", "service"));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "balanced", json!({})).await;
        scene.waits(&kind, "balanced", "unresolved").await;
        assert_eq!(scene.configs().await, ["other"]);
        stage.place.set_status(&SERVICE, scene.ns(), "service", balanced("10.0.0.1")).await;
        scene.configs_are(&["after", "optional", "other"]).await;
        scene.active(&kind, "balanced").await;

        // What is not known any more prunes nothing.
        let empty = json!({"loadBalancer": {"ingress": null}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", empty).await;
        scene.waits(&kind, "balanced", "unresolved").await;
        assert_eq!(scene.configs().await, ["after", "optional", "other"]);
        stage.place.set_status(&SERVICE, scene.ns(), "service", balanced("10.0.0.2")).await;
        scene.configs_are(&["other"]).await;
        scene.active(&kind, "balanced").await;
    });
}

#[test]
fn a_missing_field_of_the_instance_is_an_error_that_names_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "include-missing").await;
        let rgd = decided("Missing", "${schema.spec.on}").spec(json!({"on": "boolean"}));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "missing", json!({})).await;
        let seen = scene.waits(&kind, "missing", "schema.spec.on").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        scene.configs_are(&["other"]).await;
        scene.edit(&kind, "missing", json!({"on": true})).await;
        scene.active(&kind, "missing").await;
        assert_eq!(scene.configs().await, ["after", "optional", "other"]);
    });
}

#[test]
fn a_removed_node_goes_even_while_another_is_not_ready() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "prune-removed").await;
        let never = Node::config("never", "never", json!({})).ready_when("${never.data.ready == \"yes\"}");
        let rgd = Rgd::new("Shrinking").node(never);
        let both = rgd.clone().node(Node::config("leaving", "leaving", json!({})));
        let kind = scene.define(&both).await;
        scene.create(&kind, "shrinking", json!({})).await;
        scene.configs_are(&["leaving", "never"]).await;
        scene.waits(&kind, "shrinking", "never").await;
        scene.define(&rgd).await;
        scene.configs_are(&["never"]).await;
        let seen = scene.waits(&kind, "shrinking", "never").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
    });
}

#[test]
fn what_is_pruned_goes_from_the_last_wave_to_the_first() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "prune-waves").await;
        let held = |id: &str| {
            let node = Node::config(id, id, json!({"of": "${schema.metadata.name}"}));
            node.include_when("${schema.spec.on}").meta("finalizers", json!(["kro.test/hold"]))
        };
        let mut second = held("second");
        second.0["template"]["data"]["uid"] = json!("${first.metadata.uid}");
        let rgd = Rgd::new("Surge").spec(json!({"on": "boolean"})).node(held("first")).node(second);
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "waves", json!({"on": true})).await;
        scene.edit(&kind, "waves", json!({"on": false})).await;
        scene.until(&CONFIG_MAP, "second", "to be deleted", e2e::Object::is_deleting).await;
        scene.waits(&kind, "waves", "second").await;
        assert!(!scene.config("first").await.is_deleting(), "it waits for what depends on it");
        let release = json!({"metadata": {"finalizers": null}});
        stage.place.edit(&CONFIG_MAP, scene.ns(), "second", release.clone()).await;
        scene.until(&CONFIG_MAP, "first", "to be deleted", e2e::Object::is_deleting).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "first", release).await;
        scene.configs_are(&[]).await;
        scene.active(&kind, "waves").await;
    });
}
