//! `Object`: an object of any kind as JSON, with the questions that tests ask.

use std::fmt;

use kube::api::DynamicObject;
use serde_json::Value;

/// An object as an API server returned it.
#[derive(Clone, PartialEq)]
pub struct Object(pub Value);

/// A condition, or what an Event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// `True`, `False`, `Unknown`; for an Event its type.
    pub status: String,
    /// CamelCase word.
    pub reason: String,
    /// Words for people.
    pub message: String,
}

impl Object {
    /// The value at a JSON pointer (`/spec/fqdn`); null where there is none.
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text at a JSON pointer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `metadata.resourceVersion`.
    pub fn version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> i64 {
        self.at("/metadata/generation").as_i64().unwrap_or_default()
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        !self.at("/metadata/deletionTimestamp").is_null()
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["annotations"][key].as_str()
    }

    /// A label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"][key].as_str()
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> Vec<&str> {
        self.at("/metadata/finalizers").as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// A condition of its status.
    pub fn condition(&self, kind: &str) -> Option<Told> {
        let conditions = self.at("/status/conditions").as_array()?;
        let found = conditions.iter().find(|condition| condition["type"] == kind)?;
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        Some(Told { status: text("status"), reason: text("reason"), message: text("message") })
    }

    /// Whether a condition has this status and reason.
    pub fn has(&self, kind: &str, status: &str, reason: &str) -> bool {
        self.condition(kind).is_some_and(|told| told.status == status && told.reason == reason)
    }
}

impl From<DynamicObject> for Object {
    fn from(object: DynamicObject) -> Self {
        Self(serde_json::to_value(object).unwrap())
    }
}

impl fmt::Display for Object {
    /// Without managed fields, which only fill the screen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.clone();
        if let Some(metadata) = shown["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        write!(f, "{shown}")
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
