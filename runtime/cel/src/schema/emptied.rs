//! Maps that are to be empty, and are not yet.
//!
//! Server-side apply takes away what is applied no more. Where nothing is left of a map that is applied as `{}`, that makes null
//! of it, which API servers then refuse: "must be of type object" (structured-merge-diff, `typed/remove.go`;
//! `test/sim/tests/conformance/topics/apply_lists.rs` shows it). Such a map is taken away first, and made anew, empty, after.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    difference::{by_keys, text_of},
    shape::{ListKind, Shape},
};

/// What is desired without the maps that are empty in it, and not in what is observed. `None`: there is no such map.
pub(super) fn without_emptied(shape: &Shape, desired: &Value, observed: &Value) -> Option<Value> {
    match (desired, observed) {
        (Value::Object(desired), Value::Object(observed)) => fields(shape, desired, observed).map(Value::Object),
        (Value::Array(desired), Value::Array(observed)) => elements(shape, desired, observed).map(Value::Array),
        _ => None,
    }
}

/// `None`: nothing is to be left out. What nothing else is left in is left out by whoever holds it.
fn fields(shape: &Shape, desired: &Map<String, Value>, observed: &Map<String, Value>) -> Option<Map<String, Value>> {
    let object = if let Shape::Object(object) = shape { Some(object) } else { None };
    if object.is_some_and(|object| object.atomic) {
        return None;
    }
    let mut changes = BTreeMap::new();
    for (name, value) in desired {
        let Some(held) = observed.get(name) else { continue };
        let inner = object.map_or(&Shape::Any, |object| object.inner(name));
        if is_emptied(inner, value, held) {
            changes.insert(name, None);
        } else if let Some(left) = without_emptied(inner, value, held) {
            // An empty map would be refused in its place.
            changes.insert(name, Some(left).filter(|left| left.as_object().is_none_or(|left| !left.is_empty())));
        }
    }
    if changes.is_empty() {
        return None;
    }
    let left = desired.iter().filter_map(|(name, value)| {
        let left = changes.remove(name).unwrap_or_else(|| Some(value.clone()))?;
        Some((name.clone(), left))
    });
    Some(left.collect())
}

/// What is there by default is nobody's, and stays.
fn is_emptied(shape: &Shape, desired: &Value, observed: &Value) -> bool {
    let (Some(desired), Some(observed)) = (desired.as_object(), observed.as_object()) else { return false };
    let object = if let Shape::Object(object) = shape { Some(object) } else { None };
    let default = |name: &str| object.and_then(|object| object.fields.get(name)?.default.as_ref());
    let is_atomic = object.is_some_and(|object| object.atomic);
    desired.is_empty() && !is_atomic && observed.iter().any(|(name, held)| default(name) != Some(held))
}

/// Only elements that are told apart by keys are applied one by one; all other lists are replaced, or hold no maps. One whose
/// keys have defaults, and are left out, is taken as it is.
fn elements(shape: &Shape, desired: &[Value], observed: &[Value]) -> Option<Vec<Value>> {
    let Shape::List { items, kind: ListKind::Map(keys) } = shape else { return None };
    if !desired.iter().any(holds_empty) {
        return None;
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let by_keys = by_keys(&keys, observed);
    let mut changed = None;
    for (index, value) in desired.iter().enumerate() {
        let held = text_of(keys.iter().copied(), value).and_then(|text| by_keys.get(&text).copied());
        if let Some(value) = held.and_then(|held| without_emptied(items, value, held)) {
            changed.get_or_insert_with(|| desired.to_vec())[index] = value;
        }
    }
    changed
}

/// Hardly any list holds an empty map.
fn holds_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty() || fields.values().any(holds_empty),
        Value::Array(items) => items.iter().any(holds_empty),
        _ => false,
    }
}
