//! How it stands with an object, as a broker decides it: what that means, and what the object waits for.

use broker_api::condition;
use broker_core::decision::{Decision, State};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// What a state means, for people.
pub(crate) fn meaning(state: State) -> &'static str {
    match state {
        State::Unknown => "not enough is known to decide",
        State::Gone => "there is no such object, or it is none of the broker's business",
        State::Waiting => "no provider takes it now",
        State::Placing => "it is being placed",
        State::Served => "its copy is in place",
        State::NotAccepted => "its provider no longer accepts it, and no other takes it",
        State::Moving => "it moves to another provider",
        State::Blocked => "something keeps it from being served",
        State::Deleting => "it is being deleted",
        State::Paused => "a person has paused it: remove its annotation broker.platform-mesh.io/paused",
        State::Ignored => "a person has told the broker to ignore it: remove its label broker.platform-mesh.io/ignore",
    }
}

/// A state's name, for programs.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
pub(crate) fn serialize<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str())
}

/// All names.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": State::ALL.map(State::as_str) })
}

/// Something that an object waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Wait {
    /// A word, which docs/troubleshooting.md has.
    pub(crate) reason: String,
    /// The same in a sentence.
    pub(crate) message: String,
    /// Since when, as the object's conditions have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
}

/// What an object waits for.
pub(crate) fn waits(decision: &Decision) -> Vec<Wait> {
    let warnings = decision.notes.iter().filter(|note| note.warning);
    let warnings = warnings.map(|note| (note.reason.to_string(), note.message.clone()));
    let moving = decision.moving.iter().filter(|moving| !moving.waits_for.is_empty()).map(|moving| {
        let told = format!("the move to {} waits for {}", moving.to.name(), moving.waits_for);
        (condition::MOVING.to_owned(), told)
    });
    warnings.chain(moving).map(|(reason, message)| Wait { reason, message, since: None }).collect()
}

/// The same with what an object shows of it: since when, and why it stays where it is although it should move.
pub(crate) fn waits_of(object: &Value, decision: &Decision) -> Vec<Wait> {
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let shown = || object["status"]["conditions"].as_array().into_iter().flatten();
    let mut all = waits(decision);
    let stays = shown().find(|one| one["type"] == condition::MOVING && one["status"] == "False");
    if let Some(stays) = stays.filter(|stays| all.iter().all(|wait| stays["reason"] != wait.reason.as_str())) {
        all.push(Wait { reason: text(stays, "reason"), message: text(stays, "message"), since: None });
    }
    let deleted = object["metadata"]["deletionTimestamp"].as_str();
    for wait in &mut all {
        let is_of_it = |one: &&Value| {
            one["reason"] == wait.reason.as_str() && one["status"] != "True"
                || one["type"] == wait.reason.as_str() && one["status"] == "True"
        };
        // Nobody takes it, or may: the condition's reason is a coarser word.
        let keeps_it = |one: &&Value| {
            matches!(decision.state, State::Waiting | State::Blocked)
                && one["type"] == condition::BROKERED
                && one["status"] == "False"
        };
        let condition = shown().find(is_of_it).or_else(|| shown().find(keeps_it));
        let since = condition.map(|one| text(one, "lastTransitionTime"));
        wait.since = since.or_else(|| deleted.map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use broker_core::movement::{Moving, Phase};
    use runtime_effect::note::Note;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_waited_for_is_told_with_since_when() {
        let mut decision = Decision::state(State::Moving);
        decision.notes = vec![Note::warning("Refused", "nobody takes it")];
        decision.moving = Some(Moving {
            from: ClusterName::provider("theseus"),
            to: ClusterName::provider("ariadne"),
            epoch: 1,
            migration: None,
            phase: Phase::Copying,
            waits_for: "the new copy".into(),
        });
        let condition = |kind: &str, status: &str, reason: &str, second: u8| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": format!("2026-01-01T00:00:0{second}Z"),
            })
        };
        let object = |conditions: Value| json!({ "status": { "conditions": conditions } });
        let told = |object: &Value, decision: &Decision| {
            let all = waits_of(object, decision).into_iter();
            all.map(|wait| (wait.reason, wait.message, wait.since.unwrap_or_default())).collect::<Vec<_>>()
        };
        let of = |reason: &str, message: &str, since: &str| (reason.to_owned(), message.to_owned(), since.to_owned());
        let moves =
            object(json!([condition("Moving", "True", "Copying", 1), condition("Brokered", "False", "Refused", 2)]));
        let waits = "the move to ariadne waits for the new copy";
        assert_eq!(
            told(&moves, &decision),
            [of("Refused", "nobody takes it", "2026-01-01T00:00:02Z"), of("Moving", waits, "2026-01-01T00:00:01Z")]
        );
        let mut waiting = Decision::state(State::Waiting);
        waiting.notes.clone_from(&decision.notes);
        let waits = [of("Refused", "nobody takes it", "2026-01-01T00:00:04Z")];
        assert_eq!(told(&object(json!([condition("Brokered", "False", "NoProvider", 4)])), &waiting), waits);
        let waits = [of("Refused", "nobody takes it", "")];
        assert_eq!(told(&object(json!([condition("Brokered", "True", "Placed", 4)])), &waiting), waits);
        let mut deleted = object(json!([condition("Brokered", "True", "Placed", 4)]));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:05Z");
        let waits = [of("Refused", "nobody takes it", "2026-01-01T00:00:05Z")];
        assert_eq!(told(&deleted, &waiting), waits);
        let stays = object(json!([condition("Moving", "False", "WaitingForTurn", 3)]));
        let served = Decision::state(State::Served);
        assert_eq!(told(&stays, &served), [of("WaitingForTurn", "m", "2026-01-01T00:00:03Z")]);
        assert_eq!(told(&object(json!([])), &served), []);
    }
}
