//! `View`: an object as it was seen.

use std::sync::Arc;

use broker_api::condition;
use serde_json::Value;

use crate::version::Version;

/// Why an object's content could not be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It nests deeper than what can be walked.
    Nested,
    /// It holds more values than are taken in.
    Complex,
}

impl Unread {
    /// The reason in conditions and Events.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Nested => condition::UNREADABLE,
            Self::Complex => condition::TOO_COMPLEX,
        }
    }

    /// What is wrong with it, and what to do.
    pub fn why(self) -> &'static str {
        match self {
            Self::Nested => "it nests 128 levels deep or deeper and cannot be read; make it flatter",
            Self::Complex => "it holds more than 200000 values and is not read; make it smaller",
        }
    }
}

/// An object as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: u64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether we are among its appliers (`metadata.managedFields`).
    pub applied_by_us: bool,
    /// The whole object; where it is [`View::unread`], its metadata and what of its status is small.
    pub value: Arc<Value>,
    /// Why the rest of it is not known: nothing may be concluded from what is not there, and nothing written over it.
    pub unread: Option<Unread>,
    /// Whether its `status.conditions` are known, as they are but where it is [`View::unread`].
    pub conditions_known: bool,
}

impl View {
    fn mark<'a>(&'a self, map: &str, key: &str) -> Option<&'a str> {
        self.value.get("metadata")?.get(map)?.get(key)?.as_str()
    }

    /// Which version of which object it is.
    pub fn version(&self) -> Version<'_> {
        Version { uid: &self.uid, resource_version: self.resource_version }
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.mark("annotations", key)
    }

    /// A label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.mark("labels", key)
    }

    /// `metadata.generation`, 0 where the kind has none.
    pub fn generation(&self) -> i64 {
        self.value["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether this finalizer is on it.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers().any(|held| held == finalizer)
    }

    /// The condition of this type in its status.
    pub fn condition(&self, kind: &str) -> Option<&Value> {
        let conditions = self.value.get("status")?.get("conditions")?.as_array()?;
        conditions.iter().find(|condition| condition["type"] == kind)
    }

    /// `status`, if there is one.
    pub fn status(&self) -> Option<&Value> {
        self.value.get("status").filter(|status| status.as_object().is_some_and(|fields| !fields.is_empty()))
    }

    /// Whether it has an annotation `key: "true"`.
    pub fn annotated_true(&self, key: &str) -> bool {
        self.annotation(key) == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(value: Value) -> View {
        View {
            uid: "u".into(),
            resource_version: 1,
            deleting: false,
            applied_by_us: false,
            value: Arc::new(value),
            unread: None,
            conditions_known: true,
        }
    }

    #[test]
    fn what_is_asked_for_is_found_and_nothing_else() {
        let metadata = json!({"finalizers": ["a"], "annotations": {"yes": "true", "no": "false"}});
        let conditions = json!([{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let view = view(json!({"metadata": metadata, "status": {"conditions": conditions}}));
        assert_eq!(["a", "b"].map(|finalizer| view.has_finalizer(finalizer)), [true, false]);
        assert_eq!(["yes", "no", "none"].map(|key| view.annotated_true(key)), [true, false, false]);
        assert_eq!(view.condition("Ready").unwrap()["status"], "True");
        assert_eq!(view.condition("Synced"), None);
    }

    #[test]
    fn an_empty_status_is_none() {
        assert!(view(json!({"status": {"a": 1}})).status().is_some());
        for status in [json!({}), json!(null), json!("text")] {
            assert_eq!(view(json!({"status": status})).status(), None);
        }
    }
}
