//! The fields of a rollout that say how fast it goes, and what stops it.

use e2e::{Kind, Object, Place, kind::CRD};
use serde_json::{Value, json};

use super::{
    fleet::{Fleet, PEACE, SPOKES, note},
    waves::waves,
};
use crate::FLEET;

/// Webhooks that are asked before objects are written.
const WEBHOOK: Kind = Kind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
};

/// All clusters in one wave.
pub(super) fn one_wave(most: &Value, soak: u64) -> Value {
    json!({"waves": [{"name": "all", "clusterSelector": {}, "maxUnavailable": most, "soakSeconds": soak}]})
}

/// The revisions that lima, paris and tokyo run.
pub(super) async fn revisions(fleet: &Fleet, kind: &Kind) -> Vec<String> {
    let mut all = Vec::new();
    for spoke in SPOKES {
        all.push(fleet.revision(spoke, kind).await.unwrap_or_default());
    }
    all
}

/// A rollout of which so many clusters are under way.
pub(super) fn updating(count: u64, updated: u64) -> impl Fn(&Object) -> bool {
    move |seen| {
        seen.at("/status/targetRevision") == 2
            && seen.at("/status/clusters/updating") == count
            && seen.at("/status/clusters/updated") == updated
    }
}

/// Nobody can write the CRD of this kind in a cluster until [`heal`]: who is asked first does not answer.
async fn break_writes(place: &Place, kind: &Kind) {
    let name = format!("{}.{}", kind.plural, kind.group);
    let hook = WEBHOOK.object(
        "",
        &name,
        &json!({"webhooks": [{
            "name": "away.example.org",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/away"},
            "rules": [{
                "apiGroups": [CRD.group], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": [CRD.plural],
            }],
            "matchConditions": [{"name": "this", "expression": format!("object.metadata.name == '{name}'")}],
        }]}),
    );
    place.apply(&hook.to_string()).await;
    // API servers learn of it from a watch of their own.
    let mark = json!({"metadata": {"annotations": {"is-asked": "true"}}});
    let asked = harness::wait_for(e2e::DEADLINE, "the webhook to be asked", async || {
        let api = place.api(&CRD, "");
        let patched = api.patch(&name, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&mark)).await;
        anyhow::ensure!(patched.is_err(), "it is not");
        Ok(())
    });
    asked.await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn heal(place: &Place, kind: &Kind) {
    place.delete(&WEBHOOK, "", &format!("{}.{}", kind.plural, kind.group)).await;
}

#[test]
fn no_more_clusters_of_a_wave_are_under_way_than_may_be_and_all_soak() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let kind = fleet.define("soaks", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        // Longer than any test.
        fleet.roll_out("soaks", one_wave(&json!(1), 86_400)).await;
        fleet.edit("soaks", &note("2 ")).await;
        fleet.rollout_until("soaks", "to soak in one", updating(1, 0)).await;
        fleet.runs("lima", &kind, "2").await;
        // What comes later is everywhere: the others were not told to begin.
        let barrier = fleet.define("soaks-barrier", &note("")).await;
        fleet.all_run(&barrier, "1").await;
        assert_eq!(revisions(fleet, &kind).await, ["2", "1", "1"]);
        fleet.roll_out("soaks", one_wave(&json!("67%"), 86_400)).await;
        fleet.rollout_until("soaks", "to soak in two", updating(2, 0)).await;
        fleet.runs("paris", &kind, "2").await;
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));
        // That time passes, and nothing else, ends it.
        fleet.roll_out("soaks", one_wave(&json!(3), 2)).await;
        fleet.all_run(&kind, "2").await;
        let done = |seen: &Object| updating(0, 3)(seen) && seen.has("Progressing", "False", "Complete");
        fleet.rollout_until("soaks", "to be done", done).await;
    });
}

#[test]
fn a_cluster_that_is_not_done_by_the_deadline_has_failed_and_is_tried_on() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let mut rollout = waves();
        rollout["progressDeadlineSeconds"] = json!(2);
        fleet.roll_out("late", rollout).await;
        let kind = fleet.define("late", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        let paris = fleet.spoke("paris");
        break_writes(paris, &kind).await;
        fleet.edit("late", &note("2 ")).await;
        let late = |seen: &Object| {
            let failing = seen.at("/status/failing/0");
            failing["cluster"] == "spoke#paris"
                && failing["reason"] == "DeadlineExceeded"
                && failing["message"].as_str().is_some_and(|why| why.contains("failed calling webhook"))
        };
        fleet.rollout_until("late", "to be late in paris", late).await;
        assert_eq!(revisions(fleet, &kind).await, ["1", "1", "1"]);
        heal(paris, &kind).await;
        fleet.all_run(&kind, "2").await;
    });
}

#[test]
fn a_revision_that_is_not_there_is_told_and_everything_stays() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        fleet.roll_out("missing", json!({})).await;
        let kind = fleet.define("missing", &note("")).await;
        fleet.all_run(&kind, "1").await;
        let canary = json!({"matchLabels": {"tier": "canary"}});
        let pins = json!([{"clusterSelector": canary, "revision": 1}, {"clusterSelector": canary, "revision": 8}]);
        for (spec, says) in [
            (json!({"revision": 9}), "spec.revision: there is no revision 9 of missing"),
            (json!({"pins": pins}), "spec.pins[1].revision: there is no revision 8 of missing"),
        ] {
            fleet.roll_out("missing", spec).await;
            let told = |seen: &Object| {
                let progressing = seen.condition("Progressing");
                progressing.is_some_and(|told| told.reason == "InvalidSpec" && told.message.contains(says))
            };
            fleet.rollout_until("missing", &format!("to say {says:?}"), told).await;
        }
        // The first pin that selects a cluster counts.
        fleet.edit("missing", &note("2 ")).await;
        let pins = json!([{"clusterSelector": canary, "revision": 1}, {"clusterSelector": canary, "revision": 2}]);
        fleet.roll_out("missing", json!({"pins": pins})).await;
        for spoke in ["lima", "tokyo"] {
            fleet.runs(spoke, &kind, "2").await;
        }
        let done = |seen: &Object| seen.at("/status/completedRevision") == 2;
        fleet.rollout_until("missing", "to be done", done).await;
        assert_eq!(revisions(fleet, &kind).await, ["2", "1", "2"]);
    });
}
