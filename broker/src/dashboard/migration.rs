//! `MigrationRow`: one Migration as it is shown.

use broker_api::{
    ClusterName, Migration, MigrationState, MigrationStatus,
    migration::{PROGRESSING, STALLED, SUCCEEDED, StageState},
};
use broker_core::snapshot::OriginKey;
use runtime_engine::clock::now;
use runtime_fleet::object::ObjectKey;
use serde::Deserialize as _;

use super::age::Age;
use crate::broker::Broker;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MigrationRow {
    /// Its namespace and name.
    pub(super) key: ObjectKey,
    /// The kind of what moves.
    pub(super) kind: String,
    /// What moves, where that is known.
    pub(super) origin: Option<OriginKey>,
    /// The provider that is left.
    pub(super) from: ClusterName,
    /// The one that takes over.
    pub(super) to: ClusterName,
    /// Where it stands.
    pub(super) state: MigrationState,
    /// Whether a person made it.
    pub(super) by_person: bool,
    /// How long ago it was made.
    pub(super) age: Age,
    /// Its stages in their order.
    pub(super) stages: Vec<(String, StageState)>,
    /// What it waits for, or how it ended.
    pub(super) note: String,
}

impl MigrationRow {
    /// A Migration as it was last seen; `None`: there is none.
    pub(super) fn of(broker: &Broker, key: &ObjectKey) -> Option<Self> {
        let (known, about, _) = broker.migrations.get(key)?;
        let hub = broker.hub();
        let seen = hub.map(|hub| broker.engine.look(&hub, &broker.watches.migrations, key)).unwrap_or_default();
        let read = seen.present().and_then(|view| Migration::deserialize(&*view.value).ok());
        let status = read.and_then(|migration| migration.status).unwrap_or_default();
        Some(Self {
            key: known.key.clone(),
            kind: known.from.kind.kind.clone(),
            origin: about.origin().cloned(),
            from: known.from.provider.clone(),
            to: known.to.provider.clone(),
            state: known.view.state,
            by_person: known.view.by_person,
            age: Age::of_millis(now().millis.saturating_sub(known.view.created)),
            stages: stages(&status),
            note: note(&status),
        })
    }
}

/// Those of the configuration that it recorded, and those that have begun.
fn stages(status: &MigrationStatus) -> Vec<(String, StageState)> {
    let recorded = status.configuration.iter().flat_map(|configuration| &configuration.stages);
    let mut stages: Vec<(String, StageState)> =
        recorded.map(|stage| (stage.name.clone(), StageState::Pending)).collect();
    for begun in &status.stages {
        match stages.iter_mut().find(|(name, _)| *name == begun.name) {
            Some((_, state)) => *state = begun.state,
            None => stages.push((begun.name.clone(), begun.state)),
        }
    }
    stages
}

/// What keeps it, else how it ended, else what it does.
fn note(status: &MigrationStatus) -> String {
    let said = |kind: &str| status.conditions.iter().find(|condition| condition.type_ == kind);
    let stalled = said(STALLED).filter(|condition| condition.status == "True");
    let told = stalled.or_else(|| said(SUCCEEDED)).or_else(|| said(PROGRESSING));
    told.map(|condition| condition.message.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(value: serde_json::Value) -> MigrationStatus {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn stages_that_are_to_come_are_shown_too() {
        let status = status(json!({
            "configuration": {"namespace": "n", "name": "c", "generation": 1, "stages": [{"name": "copy"}, {"name": "verify"}]},
            "stages": [{"name": "copy", "state": "Succeeded"}, {"name": "other", "state": "Failed"}],
        }));
        let of = |name: &str, state| (name.to_owned(), state);
        assert_eq!(
            stages(&status),
            [of("copy", StageState::Succeeded), of("verify", StageState::Pending), of("other", StageState::Failed)]
        );
        assert!(stages(&MigrationStatus::default()).is_empty());
    }

    #[test]
    fn what_keeps_it_is_told_first() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R", "message": kind, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let told = |conditions: &[serde_json::Value]| note(&status(json!({"conditions": conditions})));
        let progressing = condition(PROGRESSING, "False");
        assert_eq!(told(&[progressing.clone(), condition(STALLED, "True")]), STALLED);
        assert_eq!(told(&[progressing.clone(), condition(STALLED, "False"), condition(SUCCEEDED, "False")]), SUCCEEDED);
        assert_eq!((told(&[progressing]), told(&[])), (PROGRESSING.to_owned(), String::new()));
    }
}
