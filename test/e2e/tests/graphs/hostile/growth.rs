//! What makes more of itself, for ever.

use e2e::{Kind, Object};
use serde_json::json;

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::{RGD, kind},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

/// So many generations are made, and no more.
const GENERATIONS: usize = 17;

/// Waits until the last of them says why nothing comes of it.
async fn ended(scene: &Scene<'_>, kind: &Kind) {
    let last = format!("x-{}", GENERATIONS - 1);
    let told = |seen: &Object| seen.at("/status").to_string().contains("16 times: nothing more is made");
    scene.until(kind, &last, "to say that it is the last", told).await;
    assert_eq!(scene.place().list(kind, scene.ns()).await.len(), GENERATIONS);
}

/// Deletes all of a kind that makes more of itself: without its RGD nothing is made again.
async fn end(scene: &Scene<'_>, kind: &Kind) {
    let name = scene.rgd_name(kind.kind);
    scene.place().delete(&RGD, "", &name).await;
    scene.place().until_gone(&RGD, "", &name).await;
    for object in scene.place().list(kind, scene.ns()).await {
        let marks = json!({"metadata": {"finalizers": null}});
        scene.place().edit(kind, scene.ns(), object.name(), marks).await;
        scene.place().delete(kind, scene.ns(), object.name()).await;
    }
}

#[test]
fn an_instance_makes_an_instance_of_its_own_kind() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-chain").await;
        let aside = Bystander::beside(&scene).await;
        let kind = scene.define(&Rgd::new("Chain").spec(json!({"n": "integer"}))).await;
        rights::grant(&stage.place, "hostile-chain", vec![rights::children(&kind)]).await;
        let next = json!({
            "apiVersion": kind.api_version(), "kind": "Chain", "metadata": {"name": "x-${string(schema.spec.n + 1)}"},
            "spec": {"n": "${schema.spec.n + 1}"},
        });
        scene.define(&Rgd::new("Chain").spec(json!({"n": "integer"})).node(Node::new("next", next))).await;
        scene.create(&kind, "x-0", json!({"n": 0})).await;
        ended(&scene, &kind).await;
        for _ in 0..3 {
            aside.is_served("a chain of instances").await;
        }
        end(&scene, &kind).await;
        aside.is_served("its end").await;
    });
}

#[test]
fn an_instance_makes_an_rgd_of_a_new_kind_and_the_next_instance() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-breed").await;
        let aside = Bystander::beside(&scene).await;
        let kind = scene.define(&Rgd::new("Breed").spec(json!({"n": "integer"}))).await;
        let made: Vec<Kind> = vec![crate::kinds::kind("hostile-breed-made.kro.test", "K0", "*")];
        let roles = vec![rights::children(&kind), rights::children(&RGD), rights::rule(made[0].group, &["*"], &["*"])];
        rights::grant(&stage.place, "hostile-breed-made", roles).await;
        let schema = json!({
            "apiVersion": "v1alpha1", "kind": "K${string(schema.spec.n)}", "group": made[0].group, "spec": {"a": "string"},
        });
        let rgd = json!({
            "apiVersion": RGD.api_version(), "kind": RGD.kind, "metadata": {"name": "hostile-breed-${string(schema.spec.n)}"},
            "spec": {"schema": schema, "resources": []},
        });
        let next = json!({
            "apiVersion": kind.api_version(), "kind": "Breed", "metadata": {"name": "x-${string(schema.spec.n + 1)}"},
            "spec": {"n": "${schema.spec.n + 1}"},
        });
        let breed = Rgd::new("Breed")
            .spec(json!({"n": "integer"}))
            .node(Node::new("rgd", rgd).ready_when("${rgd.status.state == \"Active\"}"))
            .node(Node::new("next", next).meta("annotations", json!({"after": "${rgd.metadata.uid}"})));
        scene.define(&breed).await;
        scene.create(&kind, "x-0", json!({"n": 0})).await;
        ended(&scene, &kind).await;
        for _ in 0..3 {
            aside.is_served("RGDs that make RGDs").await;
        }
        end(&scene, &kind).await;
        for object in stage.place.list(&RGD, "").await {
            if object.name().starts_with("hostile-breed-") {
                stage.place.delete(&RGD, "", object.name()).await;
            }
        }
        aside.is_served("their end").await;
    });
}

/// A graph that waits for a kind which only its own instances would make.
#[test]
fn a_kind_that_waits_for_itself() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-self").await;
        let aside = Bystander::beside(&scene).await;
        let own = kind(&scene.group(), "Egg", "eggs");
        let template = json!({"apiVersion": own.api_version(), "kind": "Egg", "metadata": {"name": "x"}});
        let kind = scene.apply(&Rgd::new("Egg").node(Node::new("egg", template))).await;
        let told = |seen: &Object| seen.has("GraphAccepted", "False", "InvalidResourceGraph");
        let seen = scene.rgd_until(&kind, "to be told", told).await;
        println!("{:?}", seen.condition("GraphAccepted"));
        aside.is_served("a kind that waits for itself").await;
    });
}
