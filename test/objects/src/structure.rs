//! What an API server does to an object by its CRD's schema: pruning, defaulting, merge patches. Written apart from
//! the code that is tested with it, so that an error there is not repeated here.

use serde_json::{Map, Value, json};

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

/// The schema of a field; null: anything; `None`: there is no such field.
pub(crate) fn inner<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    const ANY: &Value = &Value::Null;
    if schema.is_null() {
        return Some(ANY);
    }
    if let Some(field) = properties(schema).and_then(|fields| fields.get(name)) {
        return Some(field);
    }
    if schema["additionalProperties"].is_object() {
        return Some(&schema["additionalProperties"]);
    }
    (schema["x-kubernetes-preserve-unknown-fields"] == true).then_some(ANY)
}

/// What an object of any kind has, whatever its schema.
const EVERY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Does something to the content of an object.
pub(crate) fn within(object: &mut Value, act: impl FnOnce(&mut Value)) {
    let kept = EVERY.map(|name| object.as_object_mut().unwrap().remove(name));
    act(object);
    for (name, value) in EVERY.into_iter().zip(kept) {
        if let Some(value) = value {
            object[name] = value;
        }
    }
}

/// Whether an object has no content that the schema does not have.
pub(crate) fn fits(schema: &Value, object: &Value) -> bool {
    let mut fields = object.as_object().unwrap().iter().filter(|(name, _)| !EVERY.contains(&name.as_str()));
    fields.all(|(name, value)| inner(schema, name).is_some_and(|schema| has_fields(schema, value)))
}

fn has_fields(schema: &Value, value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().all(|(name, value)| inner(schema, name).is_some_and(|schema| has_fields(schema, value)))
        }
        Value::Array(items) => items.iter().all(|item| has_fields(&schema["items"], item)),
        _ => true,
    }
}

/// Removes what the schema does not have. A null schema has everything.
pub(crate) fn prune(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| inner(schema, name).is_some() && !value.is_null());
            for (name, value) in fields.iter_mut() {
                prune(inner(schema, name).unwrap(), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(&schema["items"], item)),
        _ => {}
    }
}

/// Metadata has nothing that is empty.
pub(crate) fn tidy(metadata: &mut Value) {
    let empty = |value: &Value| {
        value.is_null() || value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    metadata.as_object_mut().unwrap().retain(|_, value| !empty(value));
}

/// Fills in what the schema defaults.
pub(crate) fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in properties(schema).into_iter().flatten() {
                if !field["default"].is_null() && !fields.contains_key(name) {
                    fields.insert(name.clone(), field["default"].clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = inner(schema, name) {
                    default(schema, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(&schema["items"], item)),
        _ => {}
    }
}

/// JSON merge patch (RFC 7386).
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, patch) in patch {
        if patch.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], patch);
        }
    }
}
