//! Writes: what they are called, and what the memory is told of them.

use broker_core::{copy, decision::Write, memory::Subject, related};
use runtime_effect::write::Op;
use serde_json::{Value, json};

pub(crate) fn verb(op: &Op) -> &'static str {
    match op {
        Op::Create(_) => "create",
        Op::Apply { .. } => "apply",
        Op::Merge(_) => "patch",
        Op::MergeStatus(_) => "status",
        Op::Delete { .. } => "delete",
    }
}

/// What the server made of a write: as the binary tells it to the memory.
pub(crate) fn leftover(write: &Write, after: &Value) -> Option<Value> {
    match write.subject {
        Subject::Copy | Subject::Successor => Some(copy::observed(after)),
        Subject::Status => Some(after.get("status").cloned().unwrap_or_else(|| json!({}))),
        Subject::Related => Some(related::observed(after)),
        Subject::Marks | Subject::Migration | Subject::Removal => None,
    }
}
