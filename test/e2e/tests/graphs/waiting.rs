//! What waits for data or readiness, and what goes on meanwhile.

use e2e::kind::CONFIG_MAP;
use serde_json::json;

use crate::{
    CALM,
    kinds::SERVICE,
    rgd::{Node, Rgd},
    scene::Scene,
};

#[test]
fn what_needs_an_absent_field_waits_and_its_neighbours_are_made() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "pending").await;
        let ip = json!({"ip": "${service.status.loadBalancer.ingress[0].ip}"});
        let rgd = Rgd::new("Pending")
            .node(Node::config("first", "first", ip))
            .node(Node::config("second", "second", json!({"ip": "${first.data.ip}"})))
            .node(Node::service("service", "service"))
            .node(Node::config("neighbour", "neighbour", json!({})));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "pending", json!({})).await;
        scene.configs_are(&["neighbour"]).await;
        let seen = scene.waits(&kind, "pending", "unresolved").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        assert!(seen.has("ResourcesReady", "False", "NotReady"), "{seen}");
        assert!(seen.has("Ready", "False", "NotReady"), "{seen}");
        assert!(seen.has("InstanceManaged", "True", "Managed"), "{seen}");
        let status = json!({"loadBalancer": {"ingress": [{"ip": "10.2.3.4"}]}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", status).await;
        scene.active(&kind, "pending").await;
        assert_eq!(scene.config("second").await.text("/data/ip"), "10.2.3.4");
    });
}

#[test]
fn dependents_wait_until_what_they_need_is_ready() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "readiness").await;
        let rgd = Rgd::new("Gated").node(Node::config("after", "after", json!({"uid": "${gate.metadata.uid}"}))).node(
            Node::config("gate", "gate", json!({}))
                .ready_when("${gate.data.a == \"yes\"}")
                .ready_when("${gate.data.?b.orValue(\"no\") == \"yes\"}"),
        );
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        scene.waits(&kind, "x", "gate").await;
        for (field, active) in [("a", false), ("b", true)] {
            stage.place.edit(&CONFIG_MAP, scene.ns(), "gate", json!({"data": {field: "yes"}})).await;
            if active {
                scene.active(&kind, "x").await;
                scene.config("after").await;
            } else {
                let seen = scene.waits(&kind, "x", "gate").await;
                assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
                assert_eq!(scene.configs().await, ["gate"]);
            }
        }
        // What is there stays when its dependency is no longer ready.
        stage.place.edit(&CONFIG_MAP, scene.ns(), "gate", json!({"data": {"a": "no"}})).await;
        scene.waits(&kind, "x", "gate").await;
        assert_eq!(scene.configs().await, ["after", "gate"]);
    });
}

#[test]
fn a_suspended_instance_is_left_as_it_is_and_can_be_deleted() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "suspended").await;
        let node = Node::config("config", "${schema.metadata.name}", json!({"text": "${schema.spec.text}"}));
        let kind = scene.define(&Rgd::new("Sleeper").spec(json!({"text": "string"})).node(node)).await;
        for name in ["x", "y"] {
            scene.bring_up(&kind, name, json!({"text": "a"})).await;
        }
        for (name, word) in [("x", "Suspended"), ("y", "disabled")] {
            let marks = json!({"metadata": {"annotations": {"kro.run/reconcile": word}}});
            stage.place.edit(&kind, scene.ns(), name, marks).await;
            let seen = scene.waits(&kind, name, "reconciliation suspended via kro.run/reconcile annotation").await;
            assert!(seen.has("Ready", "False", "ReconciliationSuspended"), "{seen}");
            assert_eq!(seen.text("/status/state"), "ACTIVE", "it keeps its last state: {seen}");
        }
        scene.edit(&kind, "x", json!({"text": "b"})).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", json!({"data": {"text": "drifted"}})).await;
        scene.barrier(&kind, json!({"text": "z"})).await;
        assert_eq!(scene.config("x").await.text("/data/text"), "drifted");
        let marks = json!({"metadata": {"annotations": {"kro.run/reconcile": null}}});
        stage.place.edit(&kind, scene.ns(), "x", marks).await;
        scene.config_says("x", "text", "b").await;
        scene.active(&kind, "x").await;
        scene.delete(&kind, "y").await;
        scene.gone(&kind, "y").await;
        assert_eq!(scene.configs().await, ["x"]);
    });
}

#[test]
fn an_rgd_waits_for_a_kind_and_wakes_up_when_it_is_there() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "late-kind").await;
        let late = crate::kinds::kind("late.kro.test", "Late", "lates");
        crate::rights::grant(&stage.place, "late-kind-children", vec![crate::rights::children(&late)]).await;
        let template = json!({"apiVersion": "late.kro.test/v1alpha1", "kind": "Late", "metadata": {"name": "late"}});
        let rgd = Rgd::new("Waiter").node(Node::new("late", template));
        let seen = scene.refused(&rgd, "schema not found").await;
        assert_eq!(seen.at("/status/topologicalOrder"), &serde_json::Value::Null, "{seen}");
        assert_eq!(seen.at("/status/lastIssuedRevision").as_i64().unwrap_or_default(), 0, "{seen}");
        stage.place.apply(&late.crd().to_string()).await;
        let kind = scene.kind_of(&rgd);
        scene.served(&kind).await;
        scene.bring_up(&kind, "x", json!({})).await;
        stage.place.get(&late, scene.ns(), "late").await;
    });
}
