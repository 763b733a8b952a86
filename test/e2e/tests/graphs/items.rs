//! Items of collections: their readiness, drift, namespaces and end.

use e2e::kind::CONFIG_MAP;
use serde_json::json;

use crate::{
    CALM,
    collections::items,
    rgd::{Node, Rgd},
    scene::Scene,
    writes::words,
};

/// An item in each of the namespaces that are named.
fn scattered() -> Rgd {
    let node = Node::config("configs", "${schema.metadata.name}", json!({"place": "${place}"}))
        .meta("namespace", json!("${place}"))
        .for_each("place", "${schema.spec.places}");
    Rgd::new("Scattered").spec(json!({"places": "[]string"})).node(node)
}

#[test]
fn dependents_wait_until_every_item_is_ready() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "items-ready").await;
        let mut rgd = items("Slow").node(Node::config("after", "after", json!({"n": "${string(size(configs))}"})));
        rgd.spec["resources"][0]["readyWhen"] = json!(["${each.data.ready == \"yes\"}"]);
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({"items": ["a", "b", "c"]})).await;
        let ready = json!({"data": {"ready": "yes"}});
        for item in ["c", "a"] {
            scene.config(&format!("x-{item}")).await;
            stage.place.edit(&CONFIG_MAP, scene.ns(), &format!("x-{item}"), ready.clone()).await;
            let seen = scene.waits(&kind, "x", "configs").await;
            assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        }
        assert_eq!(scene.configs().await, ["x-a", "x-b", "x-c"]);
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x-b", ready).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.config("after").await.text("/data/n"), "3");
    });
}

#[test]
fn items_in_several_namespaces_are_watched_repaired_and_deleted() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "items-scattered").await;
        let places = ["items-scattered", "items-there", "items-elsewhere"];
        for place in places {
            stage.namespace(place).await;
        }
        let kind = scene.define(&scattered()).await;
        scene.bring_up(&kind, "x", json!({"places": places})).await;
        for place in places {
            stage.place.edit(&CONFIG_MAP, place, "x", json!({"data": {"place": "drifted"}})).await;
            let repaired = |seen: &e2e::Object| seen.text("/data/place") == place;
            stage.place.until(&CONFIG_MAP, place, "x", "to be repaired", repaired).await;
        }
        scene.edit(&kind, "x", json!({"places": ["items-scattered", "items-there"]})).await;
        stage.place.until_gone(&CONFIG_MAP, "items-elsewhere", "x").await;
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        for place in places {
            assert!(stage.place.find(&CONFIG_MAP, place, "x").await.is_none(), "{place}");
        }
    });
}

#[test]
fn objects_that_others_make_where_items_were_trigger_nothing() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "items-after-shrink").await;
        stage.namespace("items-left").await;
        let kind = scene.define(&scattered()).await;
        scene.bring_up(&kind, "x", json!({"places": ["items-after-shrink", "items-left"]})).await;
        scene.edit(&kind, "x", json!({"places": ["items-after-shrink"]})).await;
        stage.place.until_gone(&CONFIG_MAP, "items-left", "x").await;
        scene.active(&kind, "x").await;
        scene.barrier(&kind, json!({"places": ["items-after-shrink"]})).await;
        let mark = stage.mark().await;
        let theirs = stage.place.create(&CONFIG_MAP, "items-left", "x", json!({"data": {"a": "b"}})).await;
        // Behind it, drift that has to be repaired.
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", json!({"data": {"place": "drifted"}})).await;
        scene.config_says("x", "place", "items-after-shrink").await;
        assert_eq!(words(&scene.requests(mark).await), ["patch configmaps"]);
        let kept = stage.place.get(&CONFIG_MAP, "items-left", "x").await;
        assert_eq!(kept.version(), theirs.version(), "{kept}");
        let there = stage.requests(mark).await.only(|event| event.namespace == "items-left");
        assert!(there.is_empty(), "{there:?}");
    });
}
