//! From the first state to the last.

use e2e::{
    Kind, Object,
    kind::{CONFIG_MAP, SECRET},
    traveller::secret_of,
};
use serde_json::{Value, json};

use crate::{
    state,
    trip::{is_labelled, on_its_way, stage},
};

/// `Job` of Kubernetes: nobody runs it here.
const JOB: Kind = Kind { group: "batch", version: "v1", kind: "Job", plural: "jobs" };

#[test]
fn two_stages_run_one_before_and_one_after_the_switch() {
    let stages = json!([stage("copy", json!({"progress": true})), stage("check", Value::Null)]);
    on_its_way("mig-two", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let map = trip.object(&migration, &CONFIG_MAP, "copy").await;
        assert!(is_labelled(&map, &migration, "copy"), "{map}");
        assert_eq!(map.text("/data/of"), migration.name());
        let copy = trip.item.copy_name();
        let sides = [("from", trip.ariadne), ("to", trip.theseus)];
        for (side, provider) in sides {
            let secret = trip.object(&migration, &SECRET, &format!("{side}-{copy}-key")).await;
            assert!(secret_of(provider)(&secret), "{secret}");
        }
        let tells = |seen: &Object| {
            let told = seen.condition("Moving");
            told.is_some_and(|told| told.status == "True" && told.message.contains(migration.name()))
        };
        trip.item.until("to say which Migration it waits for", tells).await;
        assert_eq!(trip.item.copy(trip.ariadne).await.uid(), trip.old.uid());
        assert!(secret_of(trip.ariadne)(&trip.homer.get(&SECRET, trip.scene.ns(), "item-key").await));

        trip.say(&migration, "copy", "done").await;
        let migration = trip.migration("CutoverInProgress").await;
        assert_eq!(migration.text("/status/stage"), "check");
        let secret = trip.homer.get(&SECRET, trip.scene.ns(), "item-key").await;
        assert!(secret_of(trip.theseus)(&secret), "it is switched before the second stage: {secret}");
        let map = trip.object(&migration, &CONFIG_MAP, "check").await;
        assert!(is_labelled(&map, &migration, "check"), "{map}");
        let first = format!("{}-copy", migration.text("/status/id"));
        trip.hub.until_gone(&CONFIG_MAP, trip.scene.ns(), &first).await;
        for (side, _) in sides {
            trip.object(&migration, &SECRET, &format!("{side}-{copy}-key")).await;
        }
        assert_eq!(trip.item.copy(trip.ariadne).await.uid(), trip.old.uid(), "the old copy stays until the end");

        trip.say(&migration, "check", "done").await;
        let migration = trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
        let course = trip.states(&migration).await;
        let expected =
            ["", "Pending", "InitialInProgress", "InitialCompleted", "CutoverInProgress", "CutoverCompleted"];
        assert_eq!(course, expected);
        let stages = migration.at("/status/stages").as_array().unwrap();
        for (entry, name) in stages.iter().zip(["copy", "check"]) {
            assert!(entry["name"] == name && entry["state"] == "Succeeded", "{migration}");
            assert!(entry["started"].is_string() && entry["finished"].is_string(), "{migration}");
        }
        trip.hub
            .until_event(trip.scene.ns(), migration.name(), "StageSucceeded", |told| told.message.contains("copy"))
            .await;
        trip.homer.until_event(trip.scene.ns(), "item", "Moved", |_| true).await;
    });
}

#[test]
fn without_progress_all_stages_come_before_the_switch() {
    let stages = json!([stage("one", Value::Null), {"name": "empty"}, stage("two", Value::Null)]);
    on_its_way("mig-none", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        trip.say(&migration, "one", "done").await;
        trip.object(&migration, &CONFIG_MAP, "two").await;
        let now = trip.migration("InitialInProgress").await;
        assert_eq!(now.text("/status/stage"), "two");
        assert!(secret_of(trip.ariadne)(&trip.homer.get(&SECRET, trip.scene.ns(), "item-key").await));
        trip.say(&migration, "two", "done").await;
        let migration = trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
        let course = trip.states(&migration).await;
        assert_eq!(course, ["", "Pending", "InitialInProgress", "InitialCompleted", "CutoverCompleted"]);
    });
}

#[test]
fn with_progress_on_all_the_first_one_ends_the_initial_phase() {
    let progress = json!({"progress": true});
    let stages = json!([stage("one", progress.clone()), stage("two", progress.clone()), stage("three", progress)]);
    on_its_way("mig-all", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        trip.say(&migration, "one", "done").await;
        trip.until(&migration, "the cutover phase", state("CutoverInProgress")).await;
        trip.say(&migration, "two", "done").await;
        trip.object(&migration, &CONFIG_MAP, "three").await;
        trip.until(&migration, "the third stage", |seen| {
            state("CutoverInProgress")(seen) && seen.text("/status/stage") == "three"
        })
        .await;
        trip.say(&migration, "three", "done").await;
        let migration = trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_configuration_without_stages_lets_the_object_pass() {
    on_its_way("mig-empty", json!([]), async |trip| {
        trip.until_arrived().await;
        let migration = trip.migration("CutoverCompleted").await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_stage_waits_for_a_job_and_fails_with_it() {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "work", "image": "work"}]});
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    });
    let stages = json!([{
        "name": "run",
        "templates": {"job": job},
        "successConditions": ["has(job.status.succeeded) && job.status.succeeded > 0"],
        "failureConditions": ["has(job.status.failed) && job.status.failed > 0"],
        "onFailure": "Hold",
    }]);
    on_its_way("mig-job", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let job = trip.object(&migration, &JOB, "job").await;
        let at = json!("2026-01-01T00:00:00Z");
        trip.hub.set_status(&JOB, trip.scene.ns(), job.name(), json!({"startTime": at, "failed": 1})).await;
        let held = trip.until_stalled(&migration, "StageFailed").await;
        assert!(held.condition("Stalled").unwrap().message.contains("job.status.failed > 0"), "{held}");
        trip.edit(&migration, json!({"retry": 1})).await;
        let again = |seen: &Object| seen.uid() != job.uid();
        let again = trip.hub.until(&JOB, trip.scene.ns(), job.name(), "to be made again", again).await;
        trip.hub.set_status(&JOB, trip.scene.ns(), again.name(), json!({"startTime": at, "succeeded": 1})).await;
        trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.hub.until_gone(&JOB, trip.scene.ns(), job.name()).await;
        trip.until_arrived().await;
    });
}
