//! `Standing`: how an object does, in a few words, by what it says of itself.

use serde_json::Value;

/// How an object does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// `Ready`, `Brokered=False (NoProvider)`, `ACTIVE`: what people look for first.
    pub(crate) summary: String,
    /// Whether nothing is wrong or missing; `None`: it says nothing of that.
    pub(crate) good: Option<bool>,
    /// Why, where it is not good.
    pub(crate) message: Option<String>,
    /// Since when, as the object has it.
    pub(crate) since: Option<String>,
}

/// Conditions that say that an object does well, by which all is told. The first one that is there counts.
const GOOD: [&str; 5] = ["Brokered", "Ready", "Available", "Complete", "Succeeded"];

/// Conditions that say more of an object that does well otherwise: that its provider has ceased to accept it, that it moves.
const MORE: [&str; 2] = ["Accepted", "Moving"];

/// Words of `status.state` that say that something is wrong, whatever conditions an author writes.
const WRONG: [&str; 4] = ["ERROR", "FAILED", "Failed", "Inactive"];

/// The word of `status.status` that says that all is well (the contract's first sign of readiness).
const AVAILABLE: &str = "Available";

/// A condition's fields.
struct Condition<'a>(&'a Value);

impl<'a> Condition<'a> {
    fn of(object: &'a Value, name: &str) -> Option<Self> {
        let conditions = object["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == name).map(Condition)
    }

    fn text(&self, field: &str) -> &'a str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn holds(&self) -> bool {
        self.text("status") == "True"
    }

    fn told(&self) -> String {
        let (name, reason) = (self.text("type"), self.text("reason"));
        match self.text("status") {
            "True" => name.to_owned(),
            other if reason.is_empty() => format!("{name}={other}"),
            other => format!("{name}={other} ({reason})"),
        }
    }
}

impl Standing {
    /// What an object says of itself.
    pub(crate) fn of(object: &Value) -> Self {
        if !object["metadata"]["deletionTimestamp"].is_null() {
            let since = object["metadata"]["deletionTimestamp"].as_str().map(str::to_owned);
            return Self { summary: "being deleted".into(), good: Some(false), message: None, since };
        }
        let status = &object["status"];
        let word = |field: &str| status[field].as_str().filter(|word| !word.is_empty());
        // Migrations and instances of graphs say it in a word of their own.
        let state = word("state");
        let failed = Condition::of(object, "Failed").or(Condition::of(object, "Stalled")).filter(Condition::holds);
        let found: Vec<Condition<'_>> = GOOD.iter().filter_map(|name| Condition::of(object, name)).collect();
        let more: Vec<Condition<'_>> = MORE.iter().filter_map(|name| Condition::of(object, name)).collect();
        let refused = more.iter().find(|condition| condition.text("type") == "Accepted" && !condition.holds());
        let bad = failed.as_ref().or_else(|| found.iter().find(|condition| !condition.holds())).or(refused);
        // As long as nothing else is said, or the other way, the word counts.
        let status = word("status").filter(|word| *word != AVAILABLE || found.is_empty() && state.is_none());
        let said = more.iter().filter(|one| one.text("type") == "Moving" || !one.holds()).map(Condition::told);
        let told: Vec<String> = match (state, bad) {
            (Some(word), None) => vec![word.to_owned()],
            (Some(word), Some(bad)) => vec![word.to_owned(), bad.told()],
            (None, _) => {
                let found = failed.iter().chain(&found).map(Condition::told);
                found.chain(said).chain(status.map(str::to_owned)).collect()
            }
        };
        let shown = bad.or(found.first());
        let time = shown.map(|condition| condition.text("lastTransitionTime")).filter(|time| !time.is_empty());
        let wrong = bad.is_some()
            || state.is_some_and(|word| WRONG.contains(&word))
            || status.is_some_and(|word| word != AVAILABLE);
        Self {
            summary: told.join(", "),
            good: if wrong { Some(false) } else { (!told.is_empty()).then_some(true) },
            message: bad.map(|bad| bad.text("message").to_owned()).filter(|message| !message.is_empty()),
            since: time.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(status: &Value) -> Standing {
        Standing::of(&json!({ "metadata": {}, "status": status }))
    }

    #[test]
    fn what_is_wrong_comes_with_its_reason() {
        let condition = |name: &str, status: &str| json!({ "type": name, "status": status, "reason": "Because", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let good = of(&json!({ "conditions": [condition("Ready", "True"), condition("Brokered", "True")] }));
        assert_eq!((&*good.summary, good.good, good.message), ("Brokered, Ready", Some(true), None));
        let bad = of(&json!({ "conditions": [condition("Ready", "False"), condition("Brokered", "True")] }));
        assert_eq!((&*bad.summary, bad.good), ("Brokered, Ready=False (Because)", Some(false)));
        assert_eq!((bad.message.as_deref(), bad.since.as_deref()), (Some("m"), Some("2026-01-01T00:00:00Z")));
        let failed = of(&json!({ "state": "Failed", "conditions": [condition("Succeeded", "False")] }));
        assert_eq!((&*failed.summary, failed.good), ("Failed, Succeeded=False (Because)", Some(false)));
        assert_eq!(of(&json!({ "state": "ACTIVE" })).good, Some(true));
        assert_eq!(of(&json!({ "state": "ERROR", "conditions": [condition("Mine", "True")] })).good, Some(false));
        let refused = of(&json!({ "conditions": [condition("Brokered", "True"), condition("Accepted", "False")] }));
        assert_eq!((&*refused.summary, refused.good), ("Brokered, Accepted=False (Because)", Some(false)));
        let moves = of(
            &json!({ "conditions": [condition("Brokered", "True"), condition("Accepted", "True"), condition("Moving", "True")] }),
        );
        assert_eq!((&*moves.summary, moves.good), ("Brokered, Moving", Some(true)));
        let comes = of(&json!({ "status": "Provisioning", "conditions": [condition("Brokered", "True")] }));
        assert_eq!((&*comes.summary, comes.good), ("Brokered, Provisioning", Some(false)));
        assert_eq!((&*of(&json!({ "status": "Available" })).summary), "Available");
        assert_eq!(of(&json!({})), Standing::default());
    }
}
