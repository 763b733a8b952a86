//! How it stands with an object, as a broker decides it: what that means, and what the object waits for.

use broker_core::decision::{Decision, State};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

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
}

/// What an object waits for.
pub(crate) fn waits(decision: &Decision) -> Vec<Wait> {
    let warnings = decision.notes.iter().filter(|note| note.warning);
    warnings.map(|note| Wait { reason: note.reason.to_string(), message: note.message.clone() }).collect()
}
