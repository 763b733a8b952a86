//! What holds for every write, whatever happens.

use broker_api::{
    MigrationState::{self, CutoverCompleted, Failed},
    MigrationStatus, Role, keys,
    migration::{RecordedConfiguration, StageState, StageStatus, millis_of},
};
use broker_core::decision::Write;
use objects::merge;
use runtime_effect::write::Op;
use serde_json::{Value, json};

use super::World;

/// Panics when a write breaks a rule.
pub(super) fn check(world: &World, write: &Write) {
    let Some(migration) = world.migration() else { return };
    if write.cluster.role() != Role::Coordination {
        return check_object(world, write);
    }
    match &write.op {
        Op::MergeStatus(patch) => {
            let before = world.status();
            let mut after = migration.clone();
            merge(&mut after["status"], &patch["status"]);
            let after = serde_json::from_value(after["status"].take()).unwrap();
            check_status(world, &before, &after);
        }
        Op::Merge(patch) => {
            if patch["metadata"].get("finalizers").is_some_and(|left| *left == json!([])) {
                assert!(is_ended(world.state()), "the finalizer goes after the end");
                let forced = migration["metadata"]["annotations"][keys::FORCE_DELETE] == "true";
                assert!(forced || world.ours().next().is_none(), "the finalizer goes last");
            }
        }
        Op::Delete { .. } => {
            assert!(is_ended(world.state()) && !has_finalizer(migration), "it is kept until all is done");
        }
        other => panic!("{other:?}"),
    }
}

fn is_ended(state: MigrationState) -> bool {
    matches!(state, CutoverCompleted | Failed)
}

fn has_finalizer(migration: &Value) -> bool {
    migration["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

fn check_object(world: &World, write: &Write) {
    let migration = world.migration().unwrap();
    let status = world.status();
    let id = status.id.as_deref().expect("nothing is made before the id is stored");
    assert!(write.name.starts_with(&format!("{id}-")), "{} has another's name", write.name);
    let at = (write.kind.clone(), write.namespace.clone(), write.name.clone());
    let held = world.objects.get(&at);
    let labels = held.map(|held| &held["metadata"]["labels"]);
    if let Op::Create(body) = &write.op {
        assert!(has_finalizer(migration), "nothing is made before the finalizer is there");
        assert!(migration["spec"]["paused"] != true, "nothing is made while it is paused");
        assert!(!is_ended(status.state) && migration["metadata"].get("deletionTimestamp").is_none());
        assert_eq!(body["metadata"]["labels"][keys::MIGRATION_ID], id);
        if let Some(stage) = body["metadata"]["labels"].get(keys::MIGRATION_STAGE) {
            assert_eq!(Some(stage.as_str().unwrap()), status.stage.as_deref(), "only the cursor's stage is made");
        }
        return;
    }
    let Some(labels) = labels else { return };
    assert_eq!(labels[keys::MIGRATION_ID], id, "{} is not ours", write.name);
    if let Op::Delete { .. } = &write.op
        && !is_ended(status.state)
    {
        let stage = labels.get(keys::MIGRATION_STAGE).and_then(Value::as_str);
        let stage = stage.expect("copies of related objects stay until the end");
        let entry = status.stages.iter().find(|entry| entry.name == stage);
        let retries = entry.is_some_and(|entry| {
            entry.state == StageState::Failed && migration["spec"]["retry"].as_i64().unwrap_or(0) > entry.retry
        });
        let current = status.stage.as_deref() == Some(stage);
        let over = entry.is_some_and(|entry| entry.state == StageState::Succeeded);
        assert!(!current || over || retries, "the cursor is stored before a stage's objects go");
    }
}

fn rank(state: MigrationState) -> usize {
    use MigrationState::{CutoverInProgress, InitialCompleted, InitialInProgress, Pending, Unknown};
    let order = [Unknown, Pending, InitialInProgress, InitialCompleted, CutoverInProgress, CutoverCompleted, Failed];
    order.iter().position(|other| *other == state).unwrap()
}

fn check_status(world: &World, before: &MigrationStatus, after: &MigrationStatus) {
    let migration = world.migration().unwrap();
    let spec = &migration["spec"];
    let deleting = migration["metadata"].get("deletionTimestamp").is_some();
    assert!(!is_ended(before.state), "nothing is said after the end");
    assert!(rank(before.state) <= rank(after.state), "{:?} -> {:?}", before.state, after.state);
    if before.configuration.is_some() {
        let unsigned = |status: &MigrationStatus| {
            status.configuration.clone().map(|recorded| RecordedConfiguration { signature: None, ..recorded })
        };
        assert_eq!(unsigned(before), unsigned(after), "what is recorded stays");
    }
    if spec["paused"] == true && before.state != after.state {
        assert!(spec["abort"] == true || deleting, "no state changes while it is paused");
    }
    let progressing = after.conditions.iter().find(|condition| condition.type_ == "Progressing");
    assert!(progressing.is_some(), "every status says what goes on");
    let succeeded = after.conditions.iter().find(|condition| condition.type_ == "Succeeded");
    assert_eq!(succeeded.is_some(), is_ended(after.state), "how it ended is said at the end");
    for entry in &after.stages {
        let held = before.stages.iter().find(|held| held.name == entry.name);
        let newly = |state| entry.state == state && held.is_none_or(|held| held.state != state);
        if newly(StageState::Succeeded) {
            assert!(spec["paused"] != true, "no stage succeeds while it is paused");
            if spec["force"] != true {
                check_success(world, before, entry);
            }
        }
        if newly(StageState::Failed) && entry.message.as_deref().is_some_and(|why| why.contains("not succeeded within"))
        {
            assert!(spec["paused"] != true, "no timeout counts while it is paused");
            let started = millis_of(held.unwrap().started.as_ref().unwrap());
            let stages = &before.configuration.as_ref().unwrap().stages;
            let stage = stages.iter().find(|stage| stage.name == entry.name).unwrap();
            let timeout = u64::try_from(stage.timeout_seconds.unwrap()).unwrap() * 1000;
            assert!(world.moment().since(started) >= timeout, "too early");
        }
    }
}

/// The conditions that stages have here, judged without CEL.
fn check_success(world: &World, status: &MigrationStatus, entry: &StageStatus) {
    let Some(configuration) = &status.configuration else { return };
    let stage = configuration.stages.iter().find(|stage| stage.name == entry.name).unwrap();
    for key in stage.templates.keys() {
        let variable = key.replace('-', "_");
        let name = format!("{}-{key}", status.id.as_ref().unwrap());
        let found = world.objects.all().find(|((_, _, found), _)| *found == name);
        let (_, stored) = found.unwrap_or_else(|| panic!("{name} is not there, and its stage has succeeded"));
        let object = &stored.value;
        assert_eq!(object["metadata"]["labels"][keys::MIGRATION_STAGE], stage.name.as_str());
        let asks = |conditions: &[String], text: &str| {
            conditions.iter().any(|condition| condition.contains(&format!("{variable}.status.{text}")))
        };
        if asks(&stage.success_conditions, "succeeded == 1") {
            assert_eq!(object["status"]["succeeded"], 1, "{name}");
        }
        if asks(&stage.failure_conditions, "failed > 0") {
            assert!(object["status"]["failed"].as_i64().unwrap_or(0) == 0, "failure wins: {name}");
        }
    }
}
