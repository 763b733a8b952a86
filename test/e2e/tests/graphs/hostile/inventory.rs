//! What people write onto their own instances: finalizers, labels, inventories.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::{FINALIZER, is_active},
    rgd::{Node, Rgd},
    scene::Scene,
};

const ID: &str = "applyset.kubernetes.io/id";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const HASH: &str = "internal.kro.run/applyset-inventory-hash";

fn base64(bytes: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An inventory that is right in all but what it says.
fn inventory(id: &str, kinds: &str, namespaces: &str) -> Value {
    let hash = Sha256::digest(format!("{id}\0{kinds}\0{namespaces}"));
    json!({
        TOOLING: "kro/v0.9.3", KINDS: kinds, NAMESPACES: namespaces, HASH: format!("sha256:{}", base64(&hash)),
    })
}

/// As many kinds as an annotation can hold.
fn huge() -> String {
    let kinds: Vec<String> = (0..4000).map(|n| format!("K{n:04}.g{n:04}.example.com")).collect();
    kinds.join(",")
}

/// As many kinds as an annotation can hold, of a group that is always served.
fn crowd() -> String {
    let letters = || (b'a'..=b'z').map(char::from);
    let kinds = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| format!("{a}{b}{c}"))));
    let kinds: Vec<String> = kinds.flat_map(|kind| [format!("A{kind}"), format!("B{kind}")]).collect();
    kinds.join(",")
}

fn plain() -> Rgd {
    Rgd::new("Plain").node(Node::config("config", "${schema.metadata.name}", json!({})))
}

#[test]
fn a_forged_inventory_takes_nothing_of_others() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-listed").await;
        let scene = Scene::new(stage, "hostile-lister").await;
        let aside = Bystander::beside(&scene).await;
        let kind = theirs.define(&plain()).await;
        theirs.bring_up(&kind, "victim", json!({})).await;
        let child = theirs.config("victim").await;
        theirs.make_config("nobodys", json!({})).await;

        let kind = scene.define(&plain()).await;
        let seen = scene.bring_up(&kind, "x", json!({})).await;
        let kinds = "ConfigMap,Namespace,Node,Secret,ServiceAccount,CustomResourceDefinition.apiextensions.k8s.io";
        let forged = inventory(seen.label(ID).unwrap(), kinds, &format!("default,kube-system,{}", theirs.ns()));
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": {"annotations": forged}})).await;
        let settled = |seen: &Object| seen.annotation(KINDS) == Some("ConfigMap") && is_active(seen);
        // Kinds that the controller may not list stay in the inventory, in whichever order.
        let told =
            |seen: &Object| settled(seen) || seen.annotation(KINDS).is_some_and(|held| sorted(held) == sorted(kinds));
        scene.until(&kind, "x", "to settle", told).await;
        aside.is_served("a forged inventory").await;
        let victims = stage.place.get(&kind_of_other(&theirs), theirs.ns(), "victim").await;
        let theirs_inventory = inventory(victims.label(ID).unwrap(), "ConfigMap", theirs.ns());
        let marks = json!({"labels": {ID: victims.label(ID)}, "annotations": theirs_inventory, "finalizers": []});
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": marks})).await;
        let repaired =
            |now: &Object| now.label(ID) == seen.label(ID) && now.finalizers().contains(&FINALIZER) && settled(now);
        scene.until(&kind, "x", "to be repaired", repaired).await;
        let marks = json!({"labels": {ID: victims.label(ID)}, "annotations": theirs_inventory});
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": marks})).await;
        scene.delete(&kind, "x").await;
        mend(&scene, &kind, "x", &seen).await;
        let now = theirs.config("victim").await;
        assert_eq!((now.uid(), now.version()), (child.uid(), child.version()), "{now}");
        assert!(stage.place.find(&CONFIG_MAP, theirs.ns(), "nobodys").await.is_some());
    });
}

/// Whoever is told that the inventory of an instance which is being deleted is wrong puts it right; it goes.
async fn mend(scene: &Scene<'_>, kind: &e2e::Kind, name: &str, before: &Object) {
    let annotations = before.at("/metadata/annotations");
    let kept = json!({KINDS: annotations[KINDS], NAMESPACES: annotations[NAMESPACES], TOOLING: annotations[TOOLING], HASH: annotations[HASH]});
    let marks = json!({"metadata": {"labels": {ID: before.label(ID)}, "annotations": kept}});
    let api = scene.place().api(kind, scene.ns());
    // It may have been repaired, and be gone.
    drop(api.patch(name, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&marks)).await);
    scene.gone(kind, name).await;
}

fn sorted(kinds: &str) -> Vec<&str> {
    let mut kinds: Vec<&str> = kinds.split(',').collect();
    kinds.sort_unstable();
    kinds
}

fn kind_of_other(scene: &Scene<'_>) -> e2e::Kind {
    scene.kind_of(&plain())
}

#[test]
fn a_huge_inventory_costs_little_and_settles() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-huge").await;
        let aside = Bystander::beside(&scene).await;
        let kind = scene.define(&plain()).await;
        let forge = async |name: &str, kinds: &str| {
            let id = stage.place.get(&kind, scene.ns(), name).await.label(ID).unwrap().to_owned();
            let marks = json!({"metadata": {"annotations": inventory(&id, kinds, "")}});
            stage.place.edit(&kind, scene.ns(), name, marks).await;
        };
        for (what, kinds) in [("groups", huge()), ("kinds", crowd())] {
            println!("{what}: {} bytes", kinds.len());
            let names = ["a", "b", "c"].map(|name| format!("{name}-{what}"));
            let mut before = Vec::new();
            for name in &names {
                before.push(scene.bring_up(&kind, name, json!({})).await);
            }
            let mark = stage.mark().await;
            for name in &names {
                forge(name, &kinds).await;
            }
            aside.is_served(what).await;
            for name in &names {
                let settled = |seen: &Object| seen.annotation(KINDS) == Some("ConfigMap") && is_active(seen);
                scene.until(&kind, name, "to settle", settled).await;
            }
            let asked = stage.requests(mark).await;
            println!("{} requests for {what}", asked.len());
            assert!(asked.len() < 4000, "{:?}", asked.counts());
            aside.is_served(&format!("{what}, settled")).await;
            for name in &names {
                // As it is being deleted, it is told what to mend.
                forge(name, &kinds).await;
                scene.delete(&kind, name).await;
            }
            aside.is_served(&format!("{what}, deleted")).await;
            for (name, before) in names.iter().zip(&before) {
                mend(&scene, &kind, name, before).await;
            }
        }
        assert!(scene.configs().await.is_empty());
    });
}

#[test]
fn an_inventory_from_the_first() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-born").await;
        let aside = Bystander::beside(&scene).await;
        let kind = scene.define(&plain()).await;
        let marks = json!({"annotations": inventory("applyset-of-nobody-v1", "ConfigMap", "default")});
        stage.place.create(&kind, scene.ns(), "wrong", json!({"metadata": marks, "spec": {}})).await;
        scene.active(&kind, "wrong").await;
        let marks = json!({"annotations": {TOOLING: "helm/v3", KINDS: "Pod", NAMESPACES: ""}});
        stage.place.create(&kind, scene.ns(), "helm", json!({"metadata": marks, "spec": {}})).await;
        let told = |seen: &Object| seen.has("InstanceManaged", "False", "ManagementFailed");
        scene.until(&kind, "helm", "to be told", told).await;
        let junk = format!("{}{}", "§,".repeat(50_000), "A.".repeat(20_000));
        let marks = json!({"annotations": {TOOLING: "kro/x", KINDS: junk, NAMESPACES: "/,..,../x"}});
        stage.place.create(&kind, scene.ns(), "junk", json!({"metadata": marks, "spec": {}})).await;
        scene.active(&kind, "junk").await;
        aside.is_served("inventories from the first").await;
    });
}
