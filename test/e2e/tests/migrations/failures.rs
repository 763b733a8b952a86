//! A stage fails: the move is undone, or held for a person.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::{Value, json};

use crate::{
    state,
    trip::{on_its_way, stage},
};

#[test]
fn a_stage_that_fails_undoes_the_move() {
    // Failure wins over success.
    let both = json!({"successConditions": ["has(copy.data.failed)"]});
    on_its_way("mig-fails", json!([stage("copy", both)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        trip.say(&migration, "copy", "failed").await;
        let migration = trip.until_ended(&migration, "Failed", "StageFailed").await;
        assert!(migration.condition("Succeeded").unwrap().message.contains("has(copy.data.failed)"), "{migration}");
        trip.until_back().await;
        trip.until_swept(&migration).await;
        trip.hub.until_event(trip.scene.ns(), migration.name(), "Failed", |told| told.status == "Warning").await;
        trip.homer.until_event(trip.scene.ns(), "item", "MoveUndone", |_| true).await;
        let says = |seen: &Object| {
            seen.condition("Moving").is_some_and(|told| told.message.contains(migration.name()))
                || seen.condition("Accepted").is_some_and(|told| told.message.contains(migration.name()))
        };
        trip.item.until("to say which Migration failed", says).await;
    });
}

#[test]
fn a_stage_that_is_held_waits_for_a_person_to_retry_or_abort() {
    let stages = json!([stage("copy", json!({"onFailure": "Hold"}))]);
    on_its_way("mig-hold", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let first = trip.say(&migration, "copy", "failed").await;
        let held = trip.until_stalled(&migration, "StageFailed").await;
        assert!(held.condition("Stalled").unwrap().message.contains("spec.retry"), "{held}");
        assert!(trip.item.find_copy(trip.theseus).await.is_some(), "all stays as it is");
        trip.edit(&migration, json!({"retry": 1})).await;
        let again = |seen: &Object| seen.uid() != first.uid();
        trip.hub.until(&CONFIG_MAP, trip.scene.ns(), first.name(), "to be made again", again).await;
        let runs =
            |seen: &Object| seen.has("Progressing", "True", "StageRunning") && seen.condition("Stalled").is_none();
        trip.until(&migration, "to run again", runs).await;
        trip.say(&migration, "copy", "failed").await;
        trip.until_stalled(&migration, "StageFailed").await;
        trip.edit(&migration, json!({"abort": true})).await;
        let migration = trip.until_ended(&migration, "Failed", "Aborted").await;
        trip.until_back().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_stage_that_takes_too_long_fails() {
    let stages = json!([stage("copy", json!({"timeoutSeconds": 1}))]);
    on_its_way("mig-slow", stages, async |trip| {
        trip.migration("InitialInProgress").await;
        let migration = trip.migration("Failed").await;
        let migration = trip.until_ended(&migration, "Failed", "TimedOut").await;
        trip.until_back().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn after_the_switch_there_is_no_way_back() {
    let stages = json!([{"name": "first", "progress": true}, stage("check", Value::Null)]);
    on_its_way("mig-late", stages, async |trip| {
        let migration = trip.migration("CutoverInProgress").await;
        trip.say(&migration, "check", "failed").await;
        let held = trip.until_stalled(&migration, "StageFailed").await;
        assert!(state("CutoverInProgress")(&held), "{held}");
        trip.edit(&migration, json!({"abort": true})).await;
        let late = |seen: &Object| {
            seen.condition("Progressing").is_some_and(|told| told.message.contains("spec.abort has no effect"))
        };
        trip.until(&migration, "to say why it cannot go back", late).await;
        assert!(trip.item.find_copy(trip.ariadne).await.is_some(), "the old copy stays until the end");
        trip.edit(&migration, json!({"force": true})).await;
        let migration = trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}
