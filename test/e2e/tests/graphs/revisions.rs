//! Revisions: when one is issued, which are kept, which one serves.

use e2e::{Object, kind::CONFIG_MAP};
use harness::wait_for;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::{
    ALONE, BROKEN, CALM,
    kinds::{REVISION, RGD},
    rgd::{Node, Rgd},
    scene::Scene,
};

pub(crate) fn versioned(text: &str) -> Rgd {
    Rgd::new("Versioned").node(Node::config("config", "${schema.metadata.name}", json!({"text": text})))
}

/// Numbers of the revisions of an RGD, sorted.
async fn numbers(scene: &Scene<'_>, rgd: &str) -> Vec<i64> {
    let all = scene.place().list(&REVISION, "").await;
    let own = all.iter().filter(|revision| revision.text("/spec/snapshot/name") == rgd);
    let mut numbers: Vec<i64> = own.filter_map(|revision| revision.at("/spec/revision").as_i64()).collect();
    numbers.sort_unstable();
    numbers
}

/// Waits until these are the revisions of an RGD.
pub(crate) async fn numbers_are(scene: &Scene<'_>, rgd: &str, wanted: &[i64]) {
    let what = format!("the revisions of {rgd} to be {wanted:?}");
    let compared = wait_for(e2e::DEADLINE, &what, async || {
        let seen = numbers(scene, rgd).await;
        if seen == wanted { Ok(()) } else { Err(format!("{seen:?}")) }
    });
    compared.await.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn the_newest_five_are_kept_and_an_old_spec_is_a_new_revision() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-kept").await;
        let kind = scene.define(&versioned("1")).await;
        let name = scene.rgd_name("Versioned");
        scene.bring_up(&kind, "x", json!({})).await;
        for (number, text) in [(2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6"), (7, "1")] {
            scene.define(&versioned(text)).await;
            scene.config_says("x", "text", text).await;
            let issued = |seen: &Object| seen.at("/status/lastIssuedRevision") == number;
            scene.rgd_until(&kind, &format!("revision {number}"), issued).await;
        }
        numbers_are(&scene, &name, &[3, 4, 5, 6, 7]).await;
        let newest = stage.place.get(&REVISION, "", &format!("{name}-r00007")).await;
        let spec = newest.at("/spec/snapshot/spec/resources/0/template/data/text");
        assert_eq!(spec, "1");
        assert_eq!(newest.at("/spec/snapshot/generation"), 7);
        assert_eq!(newest.at("/status/topologicalOrder"), &json!(["config"]));
    });
}

fn part(id: &str) -> Node {
    Node::config(id, &format!("${{schema.metadata.name}}-{id}"), json!({}))
}

/// The content of an RGD of `a` and `b`, said in other words.
fn in_other_words() -> Rgd {
    let mut empty = Rgd::new("Same").node(part("b")).node(part("a"));
    for resource in empty.spec["resources"].as_array_mut().unwrap() {
        resource["readyWhen"] = json!([]);
        resource["includeWhen"] = json!([]);
        resource["forEach"] = json!([]);
    }
    empty.spec["schema"]["status"] = json!({});
    empty.spec["schema"]["shortNames"] = json!([]);
    empty
}

#[test]
fn a_new_controller_issues_nothing_for_what_was_only_said_in_other_words_and_one_for_each_edit() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "revisions-replaced").await;
        let kind = scene.define(&Rgd::new("Same").node(part("a")).node(part("b"))).await;
        let name = scene.rgd_name("Same");
        scene.bring_up(&kind, "x", json!({})).await;
        {
            let mut controller = stage.controller().await;
            controller.kill();
            scene.apply(&in_other_words()).await;
            controller.start_again(&stage.lab).await;
        }
        let seen = scene.served(&kind).await;
        assert_eq!(
            (numbers(&scene, &name).await, seen.at("/status/lastIssuedRevision")),
            (vec![1], &json!(1)),
            "{seen}"
        );
        scene.active(&kind, "x").await;
        assert_eq!(scene.configs().await, ["x-a", "x-b"]);
        scene.define(&in_other_words().node(part("c"))).await;
        scene.configs_are(&["x-a", "x-b", "x-c"]).await;
        assert_eq!(numbers(&scene, &name).await, [1, 2]);
        assert!(stage.controller().await.process().exit_status().unwrap().is_none(), "0 restarts");
    });
}

#[test]
fn the_same_content_is_never_issued_twice() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-same").await;
        let kind = scene.define(&Rgd::new("Same").node(part("a")).node(part("b"))).await;
        let name = scene.rgd_name("Same");
        scene.define(&in_other_words()).await;
        let marks = json!({"metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}});
        stage.place.edit(&RGD, "", &name, marks).await;
        let seen = scene.served(&kind).await;
        assert_eq!(seen.at("/status/lastIssuedRevision"), 1, "{seen}");
        assert_eq!(numbers(&scene, &name).await, [1]);
    });
}

#[test]
fn rapid_edits_end_with_the_last_spec_served_and_numbers_only_rise() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-rapid").await;
        let kind = scene.define(&versioned("0")).await;
        let name = scene.rgd_name("Versioned");
        scene.bring_up(&kind, "x", json!({})).await;
        let recording = e2e::Recording::begin(&stage.place, &REVISION, "").await;
        for round in 1..=12 {
            let template = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${schema.metadata.name}"},
                "data": {"text": format!("{round}")},
            });
            let patch = json!({"spec": {"resources": [{"id": "config", "template": template}]}});
            stage.place.edit(&RGD, "", &name, patch).await;
        }
        scene.config_says("x", "text", "12").await;
        scene.served(&kind).await;
        let changes = recording.changes().await;
        let own = changes.iter().filter(|change| change.object.text("/spec/snapshot/name") == name && !change.deleted);
        let mut order: Vec<i64> = Vec::new();
        for number in own.filter_map(|change| change.object.at("/spec/revision").as_i64()) {
            if !order.contains(&number) {
                order.push(number);
            }
        }
        // What was there when the recording began comes first, in any order.
        let rising = order.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(rising && order.len() >= 2, "{order:?}");
    });
}

#[test]
fn an_invalid_update_leaves_the_last_good_revision_serving() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-invalid").await;
        let kind = scene.define(&versioned("1")).await;
        scene.bring_up(&kind, "x", json!({})).await;
        let seen = scene.refused(&versioned("${nobody.data.x}"), "references unknown identifiers: [nobody]").await;
        assert_eq!(seen.at("/status/lastIssuedRevision"), 1, "{seen}");
        let root = seen.condition("Ready").unwrap();
        assert_eq!((root.status.as_str(), root.reason.as_str()), ("False", "InvalidResourceGraph"), "{seen}");
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", json!({"data": {"text": "drifted"}})).await;
        scene.config_says("x", "text", "1").await;
        scene.bring_up(&kind, "y", json!({})).await;
        assert_eq!(numbers(&scene, &scene.rgd_name("Versioned")).await, [1]);
        scene.define(&versioned("2")).await;
        for name in ["x", "y"] {
            scene.config_says(name, "text", "2").await;
        }
        numbers_are(&scene, &scene.rgd_name("Versioned"), &[1, 2]).await;
    });
}

#[test]
fn an_inactive_rgd_can_be_deleted() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-inactive").await;
        let rgd = versioned("${nobody.data.x}");
        let seen = scene.refused(&rgd, "unknown identifiers").await;
        assert!(seen.at("/status/topologicalOrder").is_null(), "{seen}");
        stage.place.delete(&RGD, "", seen.name()).await;
        stage.place.until_gone(&RGD, "", seen.name()).await;
        assert!(numbers(&scene, seen.name()).await.is_empty());
    });
}

#[test]
fn a_revisions_spec_cannot_be_changed() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "revisions-immutable").await;
        scene.define(&versioned("1")).await;
        let name = format!("{}-r00001", scene.rgd_name("Versioned"));
        let patch = json!({"spec": {"revision": 2}});
        let changed = stage.place.api(&REVISION, "").patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await;
        let told = changed.unwrap_err().to_string();
        assert!(told.contains("spec is immutable"), "{told}");
    });
}

#[test]
fn numbers_go_on_after_a_restart_and_after_revisions_are_lost() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "revisions-restart").await;
        let kind = scene.define(&versioned("1")).await;
        scene.bring_up(&kind, "x", json!({})).await;
        scene.define(&versioned("2")).await;
        let name = scene.rgd_name("Versioned");
        {
            let mut controller = stage.controller().await;
            controller.kill();
            let newest = format!("{name}-r00002");
            stage.place.edit(&REVISION, "", &newest, json!({"metadata": {"finalizers": null}})).await;
            stage.place.delete(&REVISION, "", &newest).await;
            controller.start_again(&stage.lab).await;
        }
        let issued = |seen: &Object| seen.at("/status/lastIssuedRevision").as_i64().unwrap_or_default() >= 3;
        scene.define(&versioned("3")).await;
        let seen = scene.rgd_until(&kind, "a number above the lost one", issued).await;
        scene.config_says("x", "text", "3").await;
        let numbers = numbers(&scene, &name).await;
        assert!(!numbers.contains(&2), "a number is never given twice: {numbers:?} {seen}");
    });
}
