//! Objects that are read and never written: by name, and by selector.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::{Value, json};

use crate::{
    CALM,
    kinds::kind,
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

/// A ConfigMap `out` with what expression `expression` makes of the node `refs`.
fn reader(kind: &str, metadata: Value, expression: &str) -> Rgd {
    Rgd::new(kind).node(Node::external("refs", "v1", "ConfigMap", metadata)).node(Node::config(
        "out",
        "out",
        json!({"text": expression}),
    ))
}

async fn labelled(scene: &Scene<'_>, name: &str, labels: Value, text: &str) -> Object {
    let body = json!({"metadata": {"labels": labels}, "data": {"text": text}});
    scene.place().create(&CONFIG_MAP, scene.ns(), name, body).await
}

#[test]
fn a_change_of_what_is_referred_to_triggers_and_it_is_never_written() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-name").await;
        let rgd =
            reader("Reader", json!({"name": "${schema.spec.of}"}), "${refs.data.text}").spec(json!({"of": "string"}));
        let kind = scene.define(&rgd).await;
        let theirs = scene.make_config("theirs", json!({"text": "one"})).await;
        scene.make_config("others", json!({"text": "three"})).await;
        scene.bring_up(&kind, "x", json!({"of": "theirs"})).await;
        assert_eq!(scene.config("out").await.text("/data/text"), "one");
        let edited = stage.place.edit(&CONFIG_MAP, scene.ns(), "theirs", json!({"data": {"text": "two"}})).await;
        scene.config_says("out", "text", "two").await;
        assert_eq!(scene.config("theirs").await.version(), edited.version(), "after {theirs}");
        scene.edit(&kind, "x", json!({"of": "others"})).await;
        scene.config_says("out", "text", "three").await;

        scene.delete(&CONFIG_MAP, "others").await;
        let seen = scene.waits(&kind, "x", "waiting for external reference \"refs\": not found").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        assert_eq!(scene.config("out").await.text("/data/text"), "three", "what is not known prunes nothing");
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        assert_eq!(scene.configs().await, ["theirs"], "the instance goes without what it refers to");
    });
}

#[test]
fn a_selector_reads_a_list_that_follows() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-selector").await;
        let selector = json!({"namespace": "external-selector", "selector": {
            "matchLabels": {"app": "${schema.spec.app}"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["${schema.spec.tier}", "any"]}],
        }});
        let list = "${refs.sortBy(r, r.metadata.name).map(r, r.data.text).join(\",\")}";
        let rgd = reader("Selector", selector, list).spec(json!({"app": "string", "tier": "string"}));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({"app": "web", "tier": "front"})).await;
        assert_eq!(scene.config("out").await.text("/data/text"), "", "no match is an empty list");
        labelled(&scene, "b", json!({"app": "web", "tier": "front"}), "2").await;
        labelled(&scene, "a", json!({"app": "web", "tier": "any"}), "1").await;
        labelled(&scene, "c", json!({"app": "web", "tier": "back"}), "3").await;
        labelled(&scene, "d", json!({"app": "other", "tier": "front"}), "4").await;
        scene.config_says("out", "text", "1,2").await;
        let relabel = |tier: &str| json!({"metadata": {"labels": {"tier": tier}}});
        stage.place.edit(&CONFIG_MAP, scene.ns(), "c", relabel("front")).await;
        scene.config_says("out", "text", "1,2,3").await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "b", relabel("back")).await;
        scene.config_says("out", "text", "1,3").await;
        scene.delete(&CONFIG_MAP, "a").await;
        scene.config_says("out", "text", "3").await;
        scene.edit(&kind, "x", json!({"tier": "back"})).await;
        scene.config_says("out", "text", "2").await;
        scene.active(&kind, "x").await;
    });
}

#[test]
fn an_empty_selector_reads_all_and_without_a_namespace_everywhere() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-all").await;
        stage.namespace("external-all-2").await;
        let here = json!({"namespace": "${schema.metadata.namespace}", "selector": {}});
        let filter = "${refs.filter(r, has(r.data) && \"text\" in r.data && r.metadata.name != \"out\")";
        let all = reader("AllHere", here, &format!("{filter}.map(r, r.data.text).sort().join(\",\")}}"));
        let kind = scene.define(&all).await;
        labelled(&scene, "a", json!({"set": "external-all"}), "1").await;
        stage
            .place
            .create(
                &CONFIG_MAP,
                "external-all-2",
                "b",
                json!({"metadata": {"labels": {"set": "external-all"}}, "data": {"text": "2"}}),
            )
            .await;
        scene.bring_up(&kind, "x", json!({})).await;
        scene.config_says("out", "text", "1").await;

        let everywhere = json!({"selector": {"matchLabels": {"set": "external-all"}}});
        let mut rgd = reader("Everywhere", everywhere, "${refs.map(r, r.data.text).sort().join(\",\")}");
        rgd.spec["resources"][1]["template"]["metadata"]["name"] = json!("out-all");
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "y", json!({})).await;
        scene.config_says("out-all", "text", "1,2").await;
        let patch = json!({"data": {"text": "3"}});
        stage.place.edit(&CONFIG_MAP, "external-all-2", "b", patch).await;
        scene.config_says("out-all", "text", "1,3").await;
    });
}

#[test]
fn a_selection_is_ready_when_every_match_is() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-ready").await;
        let selector = json!({"namespace": "external-ready", "selector": {"matchLabels": {"pick": "me"}}});
        let mut rgd = reader("Picker", selector, "${string(size(refs))}");
        rgd.spec["resources"][0]["readyWhen"] = json!(["${each.data.text == \"ready\"}"]);
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({})).await;
        scene.config_says("out", "text", "0").await;
        labelled(&scene, "a", json!({"pick": "me"}), "not yet").await;
        let seen = scene.waits(&kind, "x", "refs").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        stage.place.edit(&CONFIG_MAP, scene.ns(), "a", json!({"data": {"text": "ready"}})).await;
        scene.config_says("out", "text", "1").await;
        scene.active(&kind, "x").await;
    });
}

#[test]
fn an_instance_of_another_rgd_is_read_and_outlives_its_reader() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-instance").await;
        let made = Node::config("config", "${schema.metadata.name}-made", json!({"text": "${schema.spec.text}"}));
        let source = Rgd::new("Source")
            .spec(json!({"text": "string"}))
            .status(json!({"shown": "${config.data.text}"}))
            .node(made);
        let source = scene.define(&source).await;
        let metadata = json!({"name": "${\"sou\" + \"rce\"}", "namespace": "${schema.metadata.namespace}"});
        let rgd = Rgd::new("Consumer")
            .status(json!({"shown": "${source.status.shown}"}))
            .node(Node::external("source", &source.api_version(), "Source", metadata))
            .node(Node::config("out", "out", json!({"text": "${source.status.shown}", "spec": "${source.spec.text}"})));
        let consumer = scene.define(&rgd).await;
        scene.create(&consumer, "x", json!({})).await;
        scene.waits(&consumer, "x", "not found").await;
        scene.bring_up(&source, "source", json!({"text": "one"})).await;
        let seen = scene.active(&consumer, "x").await;
        assert_eq!(seen.text("/status/shown"), "one");
        scene.edit(&source, "source", json!({"text": "two"})).await;
        scene.config_says("out", "text", "two").await;
        scene.until(&consumer, "x", "two", |seen| seen.text("/status/shown") == "two").await;
        scene.delete(&consumer, "x").await;
        scene.gone(&consumer, "x").await;
        scene.edit(&source, "source", json!({"text": "three"})).await;
        scene.config_says("source-made", "text", "three").await;
        scene.active(&source, "source").await;
    });
}

#[test]
fn objects_of_a_crd_are_read_wherever_an_expression_says() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-crd").await;
        let gadget = kind("external-crd.test", "Gadget", "gadgets");
        stage.place.apply(&gadget.crd().to_string()).await;
        rights::grant(
            &stage.place,
            "external-crd",
            vec![rights::rule("external-crd.test", &["gadgets"], &["get", "list", "watch"])],
        )
        .await;
        let metadata = json!({"name": "${schema.spec.name}-gadget", "namespace": "${base.data.place}"});
        let rgd = Rgd::new("Finder")
            .spec(json!({"name": "string"}))
            .node(Node::config("base", "base", json!({"place": "external-crd-2"})))
            .node(Node::external("gadget", "external-crd.test/v1alpha1", "Gadget", metadata))
            .node(Node::config("out", "out", json!({"color": "${gadget.spec.color}"})));
        let finder = scene.define(&rgd).await;
        stage.namespace("external-crd-2").await;
        scene.create(&finder, "x", json!({"name": "a"})).await;
        scene.waits(&finder, "x", "not found").await;
        stage.place.create(&gadget, "external-crd-2", "a-gadget", json!({"spec": {"color": "red"}})).await;
        scene.active(&finder, "x").await;
        assert_eq!(scene.config("out").await.text("/data/color"), "red");
        stage.nothing_was_denied().await;
    });
}
