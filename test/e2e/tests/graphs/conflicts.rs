//! Two that want one object, and names that are the same in two RGDs.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::json;

use crate::{
    CALM,
    rgd::{Node, Rgd},
    scene::Scene,
};

const FOREIGN: &str = "resource belongs to a different ApplySet: ";

fn sharing(kind: &str) -> Rgd {
    let data = json!({"of": "${schema.metadata.name}"});
    Rgd::new(kind)
        .spec(json!({"config": "string"}))
        .node(Node::config("config", "${schema.spec.config}", data))
        .node(Node::config("own", "${schema.metadata.name}-own", json!({})))
}

#[test]
fn a_child_of_another_instance_is_not_stolen() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "conflict-stolen").await;
        let one = scene.define(&sharing("Owner")).await;
        let other = scene.define(&sharing("Robber")).await;
        scene.bring_up(&one, "first", json!({"config": "shared"})).await;
        let before = scene.config("shared").await;
        for (kind, name) in [(&one, "second"), (&other, "third")] {
            scene.create(kind, name, json!({"config": "shared"})).await;
            let seen = scene.waits(kind, name, FOREIGN).await;
            let message = seen.condition("ResourcesReady").unwrap().message;
            assert!(message.contains("conflict-stolen/shared") && message.contains("cannot reassign to"), "{message}");
            assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
            scene.config(&format!("{name}-own")).await;
        }
        let now = scene.config("shared").await;
        assert_eq!((now.version(), now.text("/data/of")), (before.version(), "first"), "{now}");
        scene.delete(&one, "second").await;
        scene.gone(&one, "second").await;
        assert_eq!(scene.config("shared").await.version(), before.version(), "a loser takes nothing with it");

        scene.delete(&one, "first").await;
        scene.gone(&one, "first").await;
        let seen = scene.active(&other, "third").await;
        let taken = scene.config("shared").await;
        assert_eq!((taken.text("/data/of"), taken.label("kro.run/instance-id")), ("third", Some(seen.uid())));
    });
}

#[test]
fn two_nodes_that_are_one_object_are_told_and_nothing_is_made() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "conflict-nodes").await;
        let rgd = Rgd::new("Collision")
            .spec(json!({"a": "string", "b": "string"}))
            .node(Node::config("a", "${schema.spec.a}", json!({})))
            .node(Node::config("b", "${schema.spec.b}", json!({})));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({"a": "same", "b": "same"})).await;
        let words = "found resources with conflicts: resourceID: a conflicts with resourceID: b";
        let seen = scene.waits(&kind, "x", words).await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        assert!(scene.configs().await.is_empty());
        scene.edit(&kind, "x", json!({"b": "other"})).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.configs().await, ["other", "same"]);
    });
}

#[test]
fn instances_of_one_name_in_two_rgds_do_not_mix() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "conflict-routing").await;
        let rgd = |kind: &str| {
            let data = json!({"kind": kind, "text": "${schema.spec.text}"});
            Rgd::new(kind)
                .spec(json!({"text": "string"}))
                .status(json!({"text": "${config.data.text}"}))
                .node(Node::config("config", &format!("${{schema.metadata.name}}-{}", kind.to_lowercase()), data))
        };
        let one = scene.define(&rgd("Left")).await;
        let other = scene.define(&rgd("Right")).await;
        scene.bring_up(&one, "x", json!({"text": "1"})).await;
        scene.bring_up(&other, "x", json!({"text": "2"})).await;
        scene.edit(&one, "x", json!({"text": "3"})).await;
        scene.config_says("x-left", "text", "3").await;
        for (name, text) in [("x-left", "3"), ("x-right", "2")] {
            stage.place.edit(&CONFIG_MAP, scene.ns(), name, json!({"data": {"text": "drifted"}})).await;
            scene.config_says(name, "text", text).await;
        }
        let says = |text: &'static str| move |seen: &Object| seen.text("/status/text") == text;
        scene.until(&one, "x", "3", says("3")).await;
        scene.until(&other, "x", "2", says("2")).await;
        scene.delete(&one, "x").await;
        scene.gone(&one, "x").await;
        assert_eq!(scene.configs().await, ["x-right"]);
    });
}
