//! Labels and annotations of ours that others write.

use e2e::{Kind, Object, kind::CONFIG_MAP};
use serde_json::json;

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    rgd::{Node, Rgd},
    scene::Scene,
};

const PART_OF: &str = "applyset.kubernetes.io/part-of";

/// An instance `victim` with a child `theirs` in the namespace of `scene`; returns both.
async fn victim(scene: &Scene<'_>) -> (Kind, Object, Object) {
    let rgd = Rgd::new("Victim")
        .status(json!({"text": "${config.data.text}"}))
        .node(Node::external("gate", "v1", "ConfigMap", json!({"name": "gate"})))
        .node(Node::config("config", "theirs", json!({"text": "${gate.data.text}"})));
    let kind = scene.define(&rgd).await;
    scene.make_config("gate", json!({"text": "true"})).await;
    let seen = scene.bring_up(&kind, "victim", json!({})).await;
    (kind, seen, scene.config("theirs").await)
}

/// Labels and annotations that say that an object is that child.
fn forged(child: &Object) -> serde_json::Value {
    json!({"labels": child.at("/metadata/labels"), "annotations": child.at("/metadata/annotations")})
}

#[test]
fn a_template_that_writes_the_labels_of_another_set() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-marked").await;
        let scene = Scene::new(stage, "hostile-marker").await;
        let aside = Bystander::beside(&scene).await;
        let (_, instance, child) = victim(&theirs).await;
        let literal = Node::config("config", "x", json!({})).meta("labels", json!({"kro.run/instance-id": "x"}));
        scene.refused(&Rgd::new("Literal").node(literal), "reserved for internal use").await;

        // Whoever makes an instance may say which labels and annotations its children have.
        let node = Node::config("config", "${schema.metadata.name}", json!({"a": "b"}))
            .meta("labels", json!("${schema.spec.labels}"))
            .meta("annotations", json!("${schema.spec.annotations}"));
        let fields = json!({"labels": "map[string]string", "annotations": "map[string]string"});
        let kind = scene.define(&Rgd::new("Marker").spec(fields).node(node)).await;
        let long = |key: &str| child.label(key).unwrap_or_default().to_owned();
        let mut annotations = child.at("/metadata/annotations").clone();
        for key in ["instance-name", "instance-namespace", "instance-group", "instance-kind"] {
            let key = format!("kro.run/{key}");
            annotations[&key] = json!(long(&key));
        }
        let mut labels = child.at("/metadata/labels").clone();
        labels["kro.run/collection-index"] = json!("7");
        let seen = scene.bring_up(&kind, "x", json!({"labels": labels, "annotations": annotations})).await;
        let own = scene.config("x").await;
        assert_eq!(own.label("kro.run/instance-id"), Some(seen.uid()), "{own}");
        assert_ne!(own.label(PART_OF), child.label(PART_OF), "{own}");
        // It is still known for whose it is: what is changed in it is repaired.
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", json!({"data": {"a": "drifted"}})).await;
        scene.config_says("x", "a", "b").await;
        aside.is_served("labels of another set").await;
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        let now = theirs.config("theirs").await;
        assert_eq!((now.uid(), now.version()), (child.uid(), child.version()), "{now}");
        let now = stage.place.get(&theirs.kind_of(&Rgd::new("Victim")), theirs.ns(), "victim").await;
        assert_eq!(now.version(), instance.version(), "{now}");
    });
}

#[test]
fn an_object_elsewhere_that_says_it_is_a_child_changes_nothing() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-claimed").await;
        let scene = Scene::new(stage, "hostile-claimant").await;
        let aside = Bystander::beside(&scene).await;
        let (kind, instance, child) = victim(&theirs).await;
        let body = json!({"metadata": forged(&child), "data": {"text": "forged"}});
        let claim = stage.place.create(&CONFIG_MAP, scene.ns(), "theirs", body.clone()).await;
        stage.place.create(&CONFIG_MAP, scene.ns(), "other", body).await;
        theirs.barrier_of(&kind, "barrier", json!({}), |seen| seen.condition("ResourcesReady").is_some()).await;
        let now = stage.place.get(&kind, theirs.ns(), "victim").await;
        assert_eq!(now.version(), instance.version(), "{now}");
        // While the node waits, what is there of it still counts for the status: what is its own.
        theirs.delete(&CONFIG_MAP, "gate").await;
        theirs.waits(&kind, "victim", "gate").await;
        let now = stage.place.get(&kind, theirs.ns(), "victim").await;
        assert_eq!(now.text("/status/text"), "true", "{now}");
        theirs.delete(&CONFIG_MAP, "theirs").await;
        let gone = |seen: &Object| seen.at("/status/text").is_null();
        theirs.until(&kind, "victim", "to have no text", gone).await;
        aside.is_served("objects that claim to be children").await;
        theirs.delete(&kind, "victim").await;
        theirs.gone(&kind, "victim").await;
        let now = stage.place.get(&CONFIG_MAP, scene.ns(), "theirs").await;
        assert_eq!((now.uid(), now.version()), (claim.uid(), claim.version()), "{now}");
    });
}
