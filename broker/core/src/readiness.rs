//! Whether a copy is ready to serve: by the status that our kinds share, by conditions, or by being there.

use runtime_cel::schema::Schema;
use runtime_effect::view::View;
use serde_json::Value;

/// The one word of `status.status` that says so.
const AVAILABLE: &str = "Available";

/// Types of conditions that say so when they are true.
const CONDITIONS: [&str; 2] = ["Ready", "Available"];

/// Why a copy is not ready; `None`: it is.
///
/// `status.status` counts where the kind has it, else the conditions `Ready` and `Available` with an up-to-date
/// `observedGeneration`, else that there is any status, and for a kind without a status that the copy is there.
pub fn unready(copy: &View, schema: &Schema, has_status: bool) -> Option<String> {
    if copy.deleting {
        return Some("it is being deleted".into());
    }
    if let Some(unread) = copy.unread {
        return Some(unread.why().into());
    }
    let status = copy.status();
    let has = |field: &str| status.is_some_and(|status| status.get(field).is_some()) || schema.names_status(field);
    if has("status") {
        return match status.and_then(|status| status["status"].as_str()) {
            Some(AVAILABLE) => None,
            Some(other) => Some(format!("its status is {other}")),
            None => Some("it has no status yet".into()),
        };
    }
    if has("conditions") {
        return unready_by_conditions(copy, status);
    }
    (has_status && status.is_none()).then(|| "it has no status yet".into())
}

fn unready_by_conditions(copy: &View, status: Option<&Value>) -> Option<String> {
    let conditions = status.and_then(|status| status["conditions"].as_array());
    let mut of_ours = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["type"].as_str().is_some_and(|kind| CONDITIONS.contains(&kind)))
        .peekable();
    if of_ours.peek().is_none() {
        return Some("it has no condition Ready or Available yet".into());
    }
    let overall = status.and_then(|status| status["observedGeneration"].as_i64());
    let mut why = None;
    for condition in of_ours {
        let kind = condition["type"].as_str().unwrap_or_default();
        let seen = condition["observedGeneration"].as_i64().or(overall);
        if condition["status"] != "True" {
            why = Some(format!("its condition {kind} is {}", condition["status"].as_str().unwrap_or("unknown")));
        } else if seen.is_some_and(|seen| seen < copy.generation()) {
            why = Some(format!("its condition {kind} speaks of an older generation"));
        } else {
            return None;
        }
    }
    why
}
