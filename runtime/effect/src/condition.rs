//! `Condition`: one entry of `status.conditions`, as the Kubernetes API conventions have it.
//! <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties>

use serde_json::{Value, json};

/// What is to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// `type`: CamelCase word.
    pub kind: &'a str,
    /// Whether it is so.
    pub status: bool,
    /// CamelCase word.
    pub reason: &'a str,
    /// One or two sentences.
    pub message: &'a str,
}

impl Condition<'_> {
    /// The entry that says it of an object's `generation`, where the object's status is `held`: the time of the last
    /// transition is that of the entry that says the same already, or `now` (RFC 3339).
    pub fn entry(&self, held: &Value, generation: i64, now: &str) -> Value {
        let status = if self.status { "True" } else { "False" };
        let mut before = held["conditions"].as_array().into_iter().flatten();
        let before = before.find(|entry| entry["type"] == self.kind && entry["status"] == status);
        let since = before.and_then(|before| before["lastTransitionTime"].as_str()).unwrap_or(now);
        json!({
            "type": self.kind,
            "status": status,
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": generation,
            "lastTransitionTime": since,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_last_turn() {
        let ready = |status| Condition { kind: "Ready", status, reason: "R", message: "m" };
        let first = ready(true).entry(&json!(null), 1, "then");
        assert_eq!(first["lastTransitionTime"], "then");
        let held = json!({"conditions": [{"type": "Other", "status": "True", "lastTransitionTime": "never"}, first]});
        let again = ready(true).entry(&held, 2, "now");
        assert_eq!((&again["lastTransitionTime"], &again["observedGeneration"]), (&json!("then"), &json!(2)));
        assert_eq!(ready(false).entry(&held, 2, "now")["lastTransitionTime"], "now");
        assert_eq!([&first["status"], &ready(false).entry(&held, 2, "now")["status"]], ["True", "False"]);
    }
}
