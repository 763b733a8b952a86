//! Kinds named like ours, or like Kubernetes' own.

use e2e::{Kind, Object, kind::SECRET};
use serde_json::json;

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::{REVISION, RGD},
    rgd::{Node, Rgd},
    scene::Scene,
};

const LEASE: Kind = Kind { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };

/// Applies an RGD of this kind and waits until it is told that it cannot be.
async fn taken(scene: &Scene<'_>, rgd: Rgd) {
    let kind = scene.apply(&rgd).await;
    let told =
        |seen: &Object| seen.condition("Ready").is_some_and(|told| told.status == "False" && !told.message.is_empty());
    let seen = scene.rgd_until(&kind, "to be told", told).await;
    println!("{}: {:?}", kind.kind, seen.condition("Ready"));
    assert_ne!(seen.text("/status/state"), "Active", "{seen}");
    scene.place().delete(&RGD, "", seen.name()).await;
    scene.place().until_gone(&RGD, "", seen.name()).await;
}

#[test]
fn kinds_that_are_taken() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-names").await;
        let aside = Bystander::beside(&scene).await;
        let like = |kind: &str, group: &str, version: &str| {
            Rgd::new(kind).schema("group", json!(group)).schema("apiVersion", json!(version)).node(Node::config(
                "config",
                "${schema.metadata.name}",
                json!({}),
            ))
        };
        let definitions = stage.place.get(&e2e::kind::CRD, "", "resourcegraphdefinitions.kro.run").await;
        taken(&scene, like("ResourceGraphDefinition", "kro.run", "v1alpha1")).await;
        taken(&scene, like("GraphRevision", "internal.kro.run", "v1alpha1")).await;
        taken(&scene, like("Secret", "core", "v1")).await;
        taken(&scene, like("Deployment", "apps", "v1")).await;
        let now = stage.place.get(&e2e::kind::CRD, "", "resourcegraphdefinitions.kro.run").await;
        assert_eq!(now.version(), definitions.version());
        assert!(stage.place.find(&REVISION, "", "none").await.is_none());
        aside.is_served("kinds that are taken").await;
    });
}

/// API servers take the approval that their own groups need from an annotation, and a template may write it.
#[test]
fn a_kind_that_kubernetes_serves_itself_is_never_taken_for_ours() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-lease").await;
        let aside = Bystander::beside(&scene).await;
        let spec = json!({"holderIdentity": "somebody", "leaseDurationSeconds": 1});
        let lease = stage.place.create(&LEASE, scene.ns(), "theirs", json!({"spec": spec})).await;
        let rgd = Rgd::new("Lease")
            .schema("group", json!(LEASE.group))
            .schema("apiVersion", json!("v1"))
            .schema("metadata", json!({"annotations": {"api-approved.kubernetes.io": "unapproved, to try"}}))
            .node(Node::config("config", "${schema.metadata.name}", json!({})));
        taken(&scene, rgd).await;
        aside.is_served("a kind of Kubernetes' own").await;
        let now = stage.place.get(&LEASE, scene.ns(), "theirs").await;
        assert_eq!(now.version(), lease.version(), "{now}");
        assert!(stage.place.find(&e2e::kind::CRD, "", "leases.coordination.k8s.io").await.is_none());
    });
}

/// The same names in groups of their own are nobody's.
#[test]
fn kinds_of_the_same_names_in_other_groups() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-alike").await;
        for name in ["Secret", "ResourceGraphDefinition", "GraphRevision", "CustomResourceDefinition"] {
            let config = format!("${{schema.metadata.name}}-{}", name.to_lowercase());
            let kind = scene.define(&Rgd::new(name).node(Node::config("config", &config, json!({})))).await;
            scene.bring_up(&kind, "x", json!({})).await;
        }
        let secret = stage.place.create(&SECRET, scene.ns(), "x", json!({"stringData": {"a": "b"}})).await;
        let kind = crate::kinds::kind("hostile-alike.kro.test", "Secret", "secrets");
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        let now = stage.place.get(&SECRET, scene.ns(), "x").await;
        assert_eq!(now.version(), secret.version(), "{now}");
    });
}
