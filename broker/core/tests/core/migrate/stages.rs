//! Stages that fail, take too long or cannot be judged.

use broker_api::{
    MigrationState::{CutoverCompleted, CutoverInProgress, Failed, InitialCompleted, InitialInProgress},
    keys,
    migration::StageState,
};
use broker_core::movement::Phase;
use serde_json::{Value, json};

use crate::migrate::world::{START, World, job, job_stage, underway, with};

fn failing(stages: Value) -> World {
    let mut world = World::new(stages);
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"failed": 1}));
    world.settle();
    world
}

/// Stage `a` is done and the consumer is switched; `b` runs.
fn after_switch(b: Value) -> World {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"progress": true})), b]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
    world.movement = underway(Phase::Switched);
    world.settle();
    assert_eq!(world.state(), CutoverInProgress);
    world
}

#[test]
fn a_failed_stage_rolls_back_and_leaves_nothing() {
    let world = failing(json!([job_stage("a", "a")]));
    assert_eq!((world.state(), world.reason("Succeeded").as_str()), (Failed, "StageFailed"));
    assert!(world.message("Succeeded").contains("failureConditions[0] is true: has(a.status)"));
    assert_eq!(world.status().stages[0].state, StageState::Failed);
    assert!(world.made().is_empty());
    assert!(world.notes.iter().any(|note| note.reason == "StageFailed"));
}

#[test]
fn failure_wins_over_success() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"failed": 1, "succeeded": 1}));
    let decided = world.pass();
    assert_eq!(world.state(), Failed);
    assert_eq!(decided.failed, Some("StageFailed"));
    assert_eq!(decided.ended_stages, [("a".to_owned(), 0, false)]);
}

#[test]
fn a_held_stage_waits_for_a_person() {
    let world = failing(json!([with(job_stage("a", "a"), json!({"onFailure": "Hold"}))]));
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (InitialInProgress, "StageFailed"));
    assert_eq!(world.status().stages[0].state, StageState::Failed);
    assert_eq!(world.made_keys(), ["a"], "for a person to look at");
    assert!(world.message("Stalled").contains("raise spec.retry"));
    assert!(world.decide().again.is_none());
}

#[test]
fn retry_runs_it_again_once_its_old_objects_are_gone() {
    let mut world = failing(json!([with(job_stage("a", "a"), json!({"onFailure": "Hold"}))]));
    let at = world.at(job(), "a");
    let old = world.objects[&at]["metadata"]["uid"].clone();
    world.objects.corrupt(&at, |object| object["metadata"]["finalizers"] = json!(["slow"]));
    world.now += 10_000;
    world.edit("retry", json!(1));
    world.settle();
    assert_eq!(world.status().stages[0].state, StageState::Failed, "the old objects go first");
    world.objects.remove(&at);
    world.settle();
    let entry = world.status().stages[0].clone();
    assert_eq!((entry.state, entry.retry, entry.message), (StageState::Running, 1, None));
    assert_eq!(entry.started.as_ref().map(broker_api::migration::millis_of), Some(START + 10_000));
    assert_ne!(world.objects[&at]["metadata"]["uid"], old);
    assert_eq!(world.condition("Stalled"), None);
    // The same number again does not: it fails once more and holds.
    world.report(&at, json!({"failed": 1}));
    world.settle();
    assert_eq!(world.status().stages[0].state, StageState::Failed);
}

#[test]
fn a_retry_asked_for_while_it_runs_is_none_for_later() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"onFailure": "Hold"}))]));
    world.settle();
    world.edit("retry", json!(5));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"failed": 1}));
    world.settle();
    assert_eq!(world.status().stages[0].state, StageState::Failed);
}

#[test]
fn force_goes_on_past_a_failed_stage() {
    let mut world = failing(json!([with(job_stage("a", "a"), json!({"onFailure": "Hold"}))]));
    world.edit("force", json!(true));
    world.settle();
    assert_eq!(world.state(), InitialCompleted);
    assert_eq!(world.status().stages[0].state, StageState::Succeeded);
}

#[test]
fn after_the_switch_a_failure_holds_whatever_it_is_to_do() {
    let mut world = after_switch(job_stage("b", "b"));
    let at = world.at(job(), "b");
    world.report(&at, json!({"failed": 1}));
    world.settle();
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (CutoverInProgress, "StageFailed"));
    assert!(world.message("Stalled").contains("cannot go back"));
    world.edit("retry", json!(1));
    world.settle();
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
    assert_eq!(world.state(), CutoverCompleted);
}

#[test]
fn the_timeout_counts_from_the_start_that_is_stored() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"timeoutSeconds": 60}))]));
    world.settle();
    world.now += 59_000;
    let decided = world.settle();
    assert_eq!((world.state(), decided.again.unwrap().as_secs()), (InitialInProgress, 1));
    // A restart does not begin it anew, and a clock that is set back neither fails nor prolongs it for good.
    world.memory = broker_core::memory::Memory::default();
    world.now -= 3_600_000;
    world.settle();
    assert_eq!(world.state(), InitialInProgress);
    world.now += 3_600_000 + 1_000;
    world.settle();
    assert_eq!((world.state(), world.reason("Succeeded").as_str()), (Failed, "TimedOut"));
    assert!(world.message("Succeeded").contains("within 60 s"));
    assert!(world.made().is_empty());
}

#[test]
fn success_that_was_reached_counts_though_the_time_is_over() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"timeoutSeconds": 60}))]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"succeeded": 1}));
    world.now += 600_000;
    world.settle();
    assert_eq!(world.state(), InitialCompleted);
}

#[test]
fn what_is_not_known_is_not_too_late() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"timeoutSeconds": 60}))]));
    world.settle();
    world.now += 600_000;
    world.listed = false;
    world.settle();
    assert_eq!(world.state(), InitialInProgress, "the success may be there already");
    (world.listed, world.sides_known) = (true, false);
    world.settle();
    assert_eq!(world.state(), InitialInProgress);
    world.sides_known = true;
    world.settle();
    assert_eq!(world.state(), Failed);
}

#[test]
fn a_condition_that_cannot_be_judged_is_neither_success_nor_failure() {
    for (field, expression, says) in [
        ("successConditions", "a.status.succeeded == 1", "status"),
        ("successConditions", "1 + 1", "not true or false"),
        ("failureConditions", "a.status.failed > 0", "status"),
        ("failureConditions", "[1, 2].map(x, x)", "not true or false"),
    ] {
        let mut world =
            World::new(json!([with(job_stage("a", "a"), json!({"successConditions": null, field: [expression]}))]));
        world.settle();
        assert_eq!(
            (world.state(), world.condition("Stalled")),
            (InitialInProgress, None),
            "a status may be about to come"
        );
        world.now += 2000;
        world.settle();
        assert_eq!((world.state(), world.reason("Stalled").as_str()), (InitialInProgress, "ExpressionError"));
        let entry = world.status().stages[0].clone();
        assert_eq!(entry.state, StageState::Running);
        let message = entry.message.unwrap();
        for text in [field, expression, says] {
            assert!(message.contains(text) && world.message("Stalled").contains(text), "{message}");
        }
    }
}

/// It is asked again in a moment, and nothing follows from that it could not say: not even success where only failure is
/// spoken of.
#[test]
fn an_expression_that_there_is_no_time_for_says_nothing_and_is_no_trouble() {
    let (yes, no) = (json!(["true"]), json!(["false"]));
    for stage in [
        json!({"name": "a", "successConditions": yes}),
        json!({"name": "a", "failureConditions": no}),
        json!({"name": "a", "templates": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "${stage.name}"}}}}),
    ] {
        let mut world = World::new(json!([stage]));
        while world.state() != InitialInProgress {
            world.pass();
        }
        world.busy = true;
        world.now += 60_000;
        let decided = world.settle();
        assert_eq!(decided.again.map(|again| again.as_secs()), Some(1), "{stage}");
        assert_eq!((world.state(), world.condition("Stalled"), world.objects.len()), (InitialInProgress, None, 0));
        world.busy = false;
        world.settle();
        assert_eq!(world.state(), InitialCompleted, "{stage}");
    }
}

#[test]
fn whoever_holds_a_stage_is_told_why_again_in_the_same_words() {
    let mut world = World::new(json!([with(job_stage("a", "a"), json!({"timeoutSeconds": 60, "onFailure": "Hold"}))]));
    world.settle();
    world.now += 60_000;
    world.settle();
    assert_eq!(world.reason("Stalled"), "TimedOut");
    world.edit("paused", json!(true));
    world.settle();
    world.edit("paused", json!(false));
    world.settle();
    assert_eq!((world.reason("Stalled").as_str(), world.reason("Progressing").as_str()), ("TimedOut", "TimedOut"));
}

#[test]
fn an_expression_that_works_again_is_no_longer_trouble() {
    let stage = with(job_stage("a", "a"), json!({"successConditions": ["a.status.succeeded == 1"]}));
    let mut world = World::new(json!([stage]));
    world.settle();
    world.now += 5000;
    world.settle();
    assert_eq!(world.reason("Stalled"), "ExpressionError");
    let at = world.at(job(), "a");
    world.report(&at, json!({"succeeded": 0}));
    world.settle();
    assert_eq!((world.condition("Stalled"), world.reason("Progressing").as_str()), (None, "StageRunning"));
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
    assert_eq!(world.state(), InitialCompleted);
}

#[test]
fn expressions_speak_of_from_to_migration_and_stage() {
    let mut world = World::new(json!([with(
        job_stage("a", "a"),
        json!({
            "templates": {"a": {"spec": {
                "id": "${migration.status.id}", "stage": "${stage.name}", "to": "${to.spec.fqdn}", "run": "${stage.retry}",
            }}},
            "successConditions": ["a.spec.id == migration.status.id && from.spec.fqdn != to.spec.fqdn"],
        })
    )]));
    world.pass();
    while world.made().is_empty() {
        world.pass();
    }
    let spec = &world.objects.all().next().unwrap().1.value["spec"];
    assert_eq!((&spec["id"], &spec["stage"], &spec["to"]), (&json!(world.id()), &json!("a"), &json!("beta.example")));
    assert_eq!(spec["run"], 0, "a value that is one expression keeps its type");
    world.settle();
    assert_eq!(world.state(), InitialCompleted);
    assert!(world.migration().unwrap()["metadata"]["finalizers"][0] == keys::FINALIZER);
}

#[test]
fn a_copy_that_is_gone_is_null_to_expressions() {
    let mut world = World::new(json!([{"name": "a", "successConditions": ["from == null && to != null"]}]));
    world.from = None;
    world.settle();
    assert_eq!(world.state(), InitialCompleted);
}
