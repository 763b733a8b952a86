//! What is told of a rollout when its status changes: starts, ends and failures of waves.

use broker_api::graphs::rollout::{DEGRADED, PROGRESSING};
use runtime_effect::note::Note;
use serde_json::Value;

use super::status::{ROLLED_BACK, STOPPED};

/// A text of a condition; empty where there is none.
fn text<'a>(status: &'a Value, condition: &str, field: &str) -> &'a str {
    let mut entries = status["conditions"].as_array().into_iter().flatten();
    let found = entries.find(|entry| entry["type"] == condition);
    found.and_then(|entry| entry[field].as_str()).unwrap_or_default()
}

/// A wave by its name, for people.
fn wave(status: &Value) -> Option<String> {
    let name = status["wave"].as_str()?;
    Some(if name.is_empty() { "the last wave".to_owned() } else { format!("wave {name}") })
}

/// What is told once the status of a rollout says `now` after it said `before`, in its order. Several steps may lie between the
/// two.
pub fn news(before: &Value, now: &Value) -> Vec<Note> {
    let Some(target) = now["targetRevision"].as_i64() else { return Vec::new() };
    let (was, is, mut told) = (wave(before), wave(now), Vec::new());
    let is_new = before["targetRevision"] != target;
    let stopped = text(now, PROGRESSING, "reason");
    let has_stopped = is_new || stopped != text(before, PROGRESSING, "reason");
    let completed = |how: String| Note::normal("RolloutCompleted", format!("revision {target}: {how}"));
    told.extend(match (was, is) {
        (_, Some(is)) if is_new => Some(Note::normal("RolloutStarted", format!("revision {target} begins with {is}"))),
        (_, None) if is_new => (now["clusters"]["total"] != 0).then(|| completed("all clusters run it".to_owned())),
        (Some(was), None) => Some(completed(format!("{was} is done, and so are all clusters"))),
        (Some(was), Some(is)) if was != is => {
            Some(Note::normal("WaveCompleted", format!("revision {target}: {was} is done; {is} begins")))
        }
        // A cluster has come, or what ran is not as it should be any more.
        (None, Some(is)) => Some(Note::normal("WaveStarted", format!("revision {target}: {is} begins"))),
        _ => None,
    });
    if has_stopped && [STOPPED, ROLLED_BACK].contains(&stopped) {
        let at = wave(now).unwrap_or_else(|| "a wave".to_owned());
        let why = text(now, DEGRADED, "message");
        let then = if stopped == STOPPED { "no further cluster begins" } else { "what ran before is brought back" };
        told.push(Note::warning("WaveFailed", format!("revision {target}: {at} failed ({why}); {then}")));
    }
    told
}
