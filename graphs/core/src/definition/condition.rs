//! Conditions of RGDs and revisions, which may be Unknown; and where names and times are in an object.

use broker_api::graphs::condition::{AWAITING_RECONCILIATION, READY, READY_REASON};
use runtime_effect::view::View;
use serde_json::{Value, json};

/// Longest message, in bytes: people read it, and an API server takes no more than 32 KiB.
const MOST: usize = 4096;

pub(super) const TRUE: &str = "True";
pub(super) const FALSE: &str = "False";
pub(super) const UNKNOWN: &str = "Unknown";

/// What is said of one aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub status: &'static str,
    pub reason: &'static str,
    pub message: String,
}

impl Said {
    pub(super) fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: TRUE, reason, message: message.into() }
    }

    pub(super) fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: FALSE, reason, message: message.into() }
    }

    pub(super) fn unknown(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: UNKNOWN, reason, message: message.into() }
    }

    /// Nobody has said anything yet.
    pub(super) fn awaiting() -> Self {
        Self::unknown(AWAITING_RECONCILIATION, "it has not come to this yet")
    }

    /// The entry that says it.
    pub(super) fn entry(&self, kind: &str, bearer: &Bearer<'_>) -> Value {
        bearer.entry(kind, self.status, self.reason, &self.message)
    }
}

/// The object whose conditions are made, and when.
pub(super) struct Bearer<'a> {
    /// Its status as it is.
    pub held: &'a Value,
    pub generation: i64,
    /// RFC 3339.
    pub now: &'a str,
}

impl<'a> Bearer<'a> {
    /// The entry of this type that is there.
    pub(super) fn held(&self, kind: &str) -> Option<&'a Value> {
        self.held["conditions"].as_array().into_iter().flatten().find(|entry| entry["type"] == kind)
    }

    /// The time is that of the last turn of the status, not of the last word.
    fn entry(&self, kind: &str, status: &str, reason: &str, message: &str) -> Value {
        let before = self.held(kind).filter(|entry| entry["status"] == status);
        let since = before.and_then(|before| before["lastTransitionTime"].as_str()).unwrap_or(self.now);
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message.get(..message.floor_char_boundary(MOST)).unwrap_or_default(),
            "observedGeneration": self.generation,
            "lastTransitionTime": since,
        })
    }

    /// The root: True when all the others are, else what the newest False says, else the newest Unknown. Of those of one
    /// moment the first counts.
    pub(super) fn root(&self, others: &[Value]) -> Value {
        let newest = |status: &str| {
            let of_status = others.iter().filter(|entry| entry["status"] == status);
            of_status.reduce(|best, entry| if time(entry) > time(best) { entry } else { best })
        };
        match newest(FALSE).or_else(|| newest(UNKNOWN)) {
            None => self.entry(READY, TRUE, READY_REASON, ""),
            Some(entry) => {
                let text = |field: &str| entry[field].as_str().unwrap_or_default();
                self.entry(READY, text("status"), text("reason"), text("message"))
            }
        }
    }
}

fn time(entry: &Value) -> &str {
    entry["lastTransitionTime"].as_str().unwrap_or_default()
}

pub(super) fn name_of(view: &View) -> &str {
    view.value["metadata"]["name"].as_str().unwrap_or_default()
}
