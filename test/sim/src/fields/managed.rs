//! `Managed`: who holds which fields of one object.

use serde_json::{Value, json};

use super::field_set::FieldSet;

/// Where an object says it, in its metadata.
const MANAGED_FIELDS: &str = "managedFields";

/// How somebody came to hold fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What one of them holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
    pub(crate) time: String,
    pub(crate) fields: FieldSet,
}

impl Entry {
    fn read(entry: &Value) -> Self {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        Self {
            manager: text("manager"),
            operation: if entry["operation"] == "Apply" { Operation::Apply } else { Operation::Update },
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: text("time"),
            fields: FieldSet::from_json(&entry["fieldsV1"]),
        }
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "operation": self.operation.as_str(), "apiVersion": self.api_version,
            "fieldsType": "FieldsV1", "fieldsV1": self.fields.to_json(),
        });
        for (name, value) in [("manager", &self.manager), ("time", &self.time), ("subresource", &self.subresource)] {
            if !value.is_empty() {
                entry[name] = json!(value);
            }
        }
        entry
    }

    /// What they stand in the order of.
    fn rank(&self) -> (Operation, [&str; 4]) {
        (self.operation, [&self.time, &self.manager, &self.api_version, &self.subresource])
    }

    /// Whether both are kept as one: whoever applies does so in any version.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

/// All who hold fields of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Managed(pub(crate) Vec<Entry>);

impl Managed {
    /// As an object's metadata say it.
    pub(crate) fn of(object: &Value) -> Self {
        let entries = object["metadata"][MANAGED_FIELDS].as_array();
        Self(entries.into_iter().flatten().map(Entry::read).collect())
    }

    /// Those that an update leaves behind: what it says itself, if it says anything, else what was there.
    pub(crate) fn said(new: &Value, live: &Value) -> Self {
        let said = new["metadata"][MANAGED_FIELDS].as_array();
        match said.map(Vec::as_slice) {
            // One empty entry: nobody is to hold anything.
            Some([Value::Object(entry)]) if entry.is_empty() => Self::default(),
            None | Some([]) => Self::of(live),
            Some(_) => Self::of(new),
        }
    }

    /// Writes it into an object.
    pub(crate) fn put(mut self, object: &mut Value) {
        self.0.retain(|entry| !entry.fields.is_empty());
        self.0.sort_by(|one, two| one.rank().cmp(&two.rank()));
        let Some(metadata) = object["metadata"].as_object_mut() else { return };
        if self.0.is_empty() {
            metadata.remove(MANAGED_FIELDS);
        } else {
            metadata.insert(MANAGED_FIELDS.to_owned(), self.0.iter().map(Entry::to_json).collect());
        }
    }
}

/// An object without who holds what in it. That is most of it, and is not copied first.
pub(crate) fn strip(object: &Value) -> Value {
    let Value::Object(fields) = object else { return object.clone() };
    let without = |metadata: &Value| {
        let Value::Object(fields) = metadata else { return metadata.clone() };
        let others = fields.iter().filter(|(name, _)| *name != MANAGED_FIELDS);
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let stripped = |(name, value): (&String, &Value)| {
        (name.clone(), if name == "metadata" { without(value) } else { value.clone() })
    };
    fields.iter().map(stripped).collect()
}

/// Takes who holds what out of an object.
pub(crate) fn strip_in_place(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(MANAGED_FIELDS);
    }
}
