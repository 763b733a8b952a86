//! A new revision gets to clusters in waves.

use e2e::{Kind, Object};
use serde_json::{Value, json};

use super::fleet::{PEACE, SPOKES, note, text_is, widget};
use crate::{
    FLEET,
    kinds::is_active,
    rgd::{Node, Rgd},
    rights,
};

/// Paris first, then the others one by one.
pub(super) fn waves() -> Value {
    json!({"waves": [
        {"name": "canary", "clusterSelector": {"matchLabels": {"tier": "canary"}}},
        {"name": "prod", "clusterSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}},
    ]})
}

fn updated(count: u64, target: u64) -> impl Fn(&Object) -> bool {
    move |seen| {
        seen.at("/status/targetRevision") == target
            && seen.at("/status/clusters/updated") == count
            && seen.at("/status/clusters/total") == 3
    }
}

/// The same with a child that only some clusters know.
pub(super) fn with_widget(widget: &Kind, prefix: &str) -> Rgd {
    let template = json!({
        "apiVersion": widget.api_version(), "kind": "Widget",
        "metadata": {"name": "${schema.metadata.name}", "namespace": "${schema.metadata.namespace}"},
        "spec": {"fqdn": "a.example.org"},
    });
    note(prefix).node(Node::new("widget", template))
}

#[test]
fn a_wave_that_fails_stops_those_after_it_until_it_is_mended_and_a_revision_can_be_taken_back() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let widget = widget("waves");
        let widgets = widget.crd().to_string();
        for place in SPOKES.map(|name| fleet.spoke(name)).into_iter().chain([&fleet.hub]) {
            rights::grant(place, "waves-widgets", vec![rights::children(&widget)]).await;
            if place.name() != "paris" {
                place.apply(&widgets).await;
            }
        }
        fleet.roll_out("waves", waves()).await;
        let kind = fleet.define("waves", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        let done = fleet.rollout_until("waves", "to be done", updated(3, 1)).await;
        assert!(done.has("Progressing", "False", "Complete") && done.has("Available", "True", "AllClusters"), "{done}");
        for spoke in SPOKES {
            fleet.bring_up(spoke, &kind, "waves", "one").await;
        }

        // Paris lacks a kind: it stays what it was, and nobody else begins.
        fleet.edit("waves", &with_widget(&widget, "2 ")).await;
        let failing = |seen: &Object| {
            seen.at("/status/failing/0/cluster") == "spoke#paris"
                && seen.at("/status/failing/0/reason") == "KindMissing"
                && seen.has("Degraded", "True", "ClustersFailing")
        };
        let seen = fleet.rollout_until("waves", "to fail in paris", failing).await;
        assert_eq!(seen.text("/status/wave"), "canary", "{seen}");
        fleet.distributed("waves", "Partial", "spoke#paris").await;
        let told =
            |reason| fleet.hub.until_event("default", "waves", reason, |told| told.message.contains("revision 2"));
        told("RolloutStarted").await;
        assert!(told("WaveFailed").await.message.contains("spoke#paris"));
        for spoke in SPOKES {
            assert_eq!(fleet.revision(spoke, &kind).await.as_deref(), Some("1"), "{spoke}");
            text_is(fleet.spoke(spoke), "waves", &format!("1 {spoke}")).await;
        }
        fleet.spoke("paris").apply(&widgets).await;
        fleet.all_run(&kind, "2").await;
        fleet.rollout_until("waves", "to be done", updated(3, 2)).await;
        told("WaveCompleted").await;
        told("RolloutCompleted").await;
        for spoke in SPOKES {
            text_is(fleet.spoke(spoke), "waves", &format!("2 {spoke}")).await;
            fleet.spoke(spoke).until_there(&widget, "waves", "one").await;
        }

        // Back, by naming the revision.
        let mut back = waves();
        back["revision"] = json!(1);
        fleet.roll_out("waves", back).await;
        fleet.all_run(&kind, "1").await;
        fleet.rollout_until("waves", "to be taken back", updated(3, 1)).await;
        for spoke in SPOKES {
            text_is(fleet.spoke(spoke), "waves", &format!("1 {spoke}")).await;
            fleet.spoke(spoke).until_gone(&widget, "waves", "one").await;
        }
        fleet.distributed("waves", "AllClusters", "3/3 clusters at revision 1").await;
    });
}

#[test]
fn a_revision_with_which_instances_fail_is_taken_back_and_no_other_cluster_sees_it() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let mut rollout = waves();
        rollout["revision"] = json!(1);
        fleet.roll_out("back", rollout.clone()).await;
        let kind = fleet.define("back", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        for spoke in SPOKES {
            fleet.bring_up(spoke, &kind, "back", "one").await;
        }
        let named = |name: &str| Node::config("config", name, json!({"text": "${schema.spec.text}"}));
        let fails = Rgd::new("Note").spec(json!({"text": "string"})).node(named("${schema.metadata.name}_config"));
        fleet.edit("back", &fails.status(json!({"config": "${config.metadata.name}"}))).await;
        // Long enough for an instance to fail; that it fails ends the wait.
        rollout["waves"][0]["soakSeconds"] = json!(60);
        rollout["revision"] = json!(2);
        fleet.roll_out("back", rollout.clone()).await;
        let fails = |seen: &Object| {
            let failing = seen.at("/status/failing/0");
            failing["cluster"] == "spoke#paris" && failing["reason"] == "InstancesFailing"
        };
        fleet.rollout_until("back", "to say why", fails).await;
        rollout["onFailure"] = json!("Rollback");
        fleet.roll_out("back", rollout).await;
        let is_back = |seen: &Object| seen.has("Progressing", "False", "RolledBack");
        let seen = fleet.rollout_until("back", "to be taken back", is_back).await;
        assert_eq!(seen.at("/status/targetRevision"), 2, "{seen}");
        fleet.runs("paris", &kind, "1").await;
        fleet.spoke("paris").until(&kind, "back", "one", "to be well again", is_active).await;
        fleet.hub.until_event("default", "back", "WaveFailed", |told| told.message.contains("brought back")).await;
        for spoke in ["lima", "tokyo"] {
            assert_eq!(fleet.revision(spoke, &kind).await.as_deref(), Some("1"), "{spoke}");
        }
    });
}

#[test]
fn a_kind_need_not_be_served_in_the_hub() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        fleet.roll_out("elsewhere", json!({"includeHub": false})).await;
        let kind = fleet.define("elsewhere", &note("")).await;
        fleet.namespace(&fleet.hub, "elsewhere").await;
        fleet.hub.create(&kind, "elsewhere", "one", json!({"spec": {"text": "hub"}})).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("paris", &kind, "elsewhere", "one").await;
        assert!(fleet.hub.get(&kind, "elsewhere", "one").await.finalizers().is_empty());
        fleet.roll_out("elsewhere", json!({"includeHub": true})).await;
        fleet.hub.until(&kind, "elsewhere", "one", "to be served", is_active).await;
    });
}
