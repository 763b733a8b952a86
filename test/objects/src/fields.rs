//! Server-side apply: which fields there are, whose they are, and what becomes of an object in which some are applied no more.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::structure::inner;

/// Where something is within an object.
pub(crate) type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Field(String),
    /// The element of a list whose elements are told apart by these fields, or by all that they are.
    Element(String),
}

/// What belongs to somebody.
pub(crate) type Fields = BTreeMap<Path, Value>;

/// How the elements of a list are told apart; `None`: the list is one field.
fn keys(schema: &Value) -> Option<Vec<&str>> {
    match schema["x-kubernetes-list-type"].as_str()? {
        "set" => Some(Vec::new()),
        "map" => Some(schema["x-kubernetes-list-map-keys"].as_array()?.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn identity(keys: &[&str], item: &Value) -> String {
    let fields: Vec<&Value> = keys.iter().map(|key| &item[*key]).collect();
    if keys.is_empty() { item.to_string() } else { json!(fields).to_string() }
}

fn is_atomic(schema: &Value) -> bool {
    schema["x-kubernetes-map-type"] == "atomic"
}

/// All fields of an object that can belong to somebody.
pub(crate) fn fields(schema: &Value, object: &Value) -> Fields {
    let mut found = Fields::new();
    collect(schema, object, &mut Vec::new(), &mut found);
    found.retain(|path, _| match path.as_slice() {
        [Step::Field(name)] => !["apiVersion", "kind"].contains(&name.as_str()),
        [Step::Field(metadata), Step::Field(name), ..] if metadata == "metadata" => {
            ["labels", "annotations", "finalizers", "ownerReferences"].contains(&name.as_str())
        }
        _ => true,
    });
    found
}

fn collect(schema: &Value, value: &Value, at: &mut Path, found: &mut Fields) {
    match (value, keys(schema)) {
        (Value::Object(fields), _) if !is_atomic(schema) && (!fields.is_empty() || at.is_empty()) => {
            for (name, value) in fields {
                at.push(Step::Field(name.clone()));
                collect(inner(schema, name).unwrap_or(&Value::Null), value, at, found);
                at.pop();
            }
        }
        // A list of this sort that is empty belongs to nobody.
        (Value::Array(items), Some(keys)) => {
            for item in items {
                at.push(Step::Element(identity(&keys, item)));
                found.insert(at.clone(), if keys.is_empty() { item.clone() } else { Value::Null });
                if !keys.is_empty() {
                    collect(&schema["items"], item, at, found);
                }
                at.pop();
            }
        }
        _ => drop(found.insert(at.clone(), value.clone())),
    }
}

/// What is applied, put over what is there.
pub(crate) fn merge(schema: &Value, live: &mut Value, applied: &Value) {
    match (applied, keys(schema)) {
        (Value::Object(wanted), _) if live.is_object() && !is_atomic(schema) => {
            for (name, wanted) in wanted {
                merge(inner(schema, name).unwrap_or(&Value::Null), &mut live[name], wanted);
            }
        }
        (Value::Array(wanted), Some(keys)) if live.is_array() => {
            let held = live.as_array().unwrap();
            let find = |list: &[Value], id: &str| list.iter().find(|item| identity(&keys, item) == id).cloned();
            let ids = |list: &[Value]| list.iter().map(|item| identity(&keys, item)).collect::<Vec<_>>();
            let (mine, theirs) = (ids(held), ids(wanted));
            let merged =
                in_order(&mine, &theirs).into_iter().filter_map(|id| match (find(held, id), find(wanted, id)) {
                    (Some(mut held), Some(wanted)) => {
                        merge(&schema["items"], &mut held, &wanted);
                        Some(held)
                    }
                    (held, wanted) => wanted.or(held),
                });
            *live = merged.collect();
        }
        _ => *live = applied.clone(),
    }
}

/// The elements of both: in the order of what is applied, and what only others have where it is among them.
fn in_order<'a>(live: &'a [String], wanted: &'a [String]) -> Vec<&'a String> {
    let (mut held, mut next) = (live.iter().peekable(), wanted.iter().peekable());
    let mut shared = wanted.iter().filter(|id| live.contains(id)).peekable();
    let mut ordered = Vec::new();
    loop {
        match (held.peek().copied(), next.peek().copied()) {
            (None, None) => return ordered,
            (Some(mine), _) if !wanted.contains(mine) => ordered.extend(held.next()),
            // It has its place among what is applied.
            (Some(mine), Some(_)) if shared.peek().is_some_and(|other| *other != mine) => drop(held.next()),
            (Some(_), None) => drop(held.next()),
            (mine, Some(id)) => {
                ordered.extend(next.next());
                shared.next_if(|other| *other == id);
                if mine == Some(id) {
                    held.next();
                }
            }
        }
    }
}

/// Takes away what is at a path. Returns whether nothing is left of what it was in: API servers make null of that.
pub(crate) fn remove(schema: &Value, live: &mut Value, at: &[Step]) -> bool {
    let Some((step, rest)) = at.split_first() else { return false };
    match (step, live) {
        (Step::Field(name), Value::Object(fields)) => {
            let Some(value) = fields.get_mut(name) else { return false };
            if !rest.is_empty() {
                return remove(inner(schema, name).unwrap_or(&Value::Null), value, rest);
            }
            fields.remove(name);
            fields.is_empty()
        }
        (Step::Element(id), Value::Array(items)) => {
            let keys = keys(schema).unwrap_or_default();
            let Some(place) = items.iter().position(|item| identity(&keys, item) == *id) else { return false };
            if !rest.is_empty() {
                return remove(&schema["items"], &mut items[place], rest);
            }
            items.remove(place);
            items.is_empty()
        }
        _ => false,
    }
}
