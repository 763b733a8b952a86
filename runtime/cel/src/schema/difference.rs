//! Objects compared, and lists as their kind says: element by element, as sets, or by the keys that tell elements apart.
//!
//! Sets and maps are as long as their owners like, so elements are found by hash, not by looking through the list.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::Write as _,
};

use serde_json::Value;

use super::{
    place::{NAME, cut},
    shape::{ListKind, Shape},
};
use crate::quantity::Quantity;

/// Elements of a set that are alike but for nulls and defaults, and are looked at one by one.
const MOST_ALIKE: usize = 8;

/// Ways of leaving keys out that a map's elements may have; keys are few, and those that are left out have defaults.
const MOST_WAYS: usize = 16;

/// Numbers are equal by value: `1` and `1.0` are one number in JSON.
pub fn same_scalar(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => left == right,
    }
}

/// The first path where `observed` does not hold what is desired.
pub(super) fn difference(shape: &Shape, desired: &Value, observed: &Value, exact: bool) -> Option<String> {
    match (desired, observed) {
        (Value::Object(desired), Value::Object(observed)) => {
            let object = if let Shape::Object(object) = shape { Some(object) } else { None };
            let exact = exact || object.is_some_and(|object| object.atomic);
            for (name, value) in desired {
                let inner = object.map_or(&Shape::Any, |object| object.inner(name));
                let Some(held) = observed.get(name) else {
                    // A null that is not stored is the same as a field that is not there.
                    if value.is_null() {
                        continue;
                    }
                    return Some(format!(".{}", cut(name, NAME)));
                };
                if let Some(path) = difference(inner, value, held, exact) {
                    return Some(format!(".{}{path}", cut(name, NAME)));
                }
            }
            let has_default =
                |name: &str| object.and_then(|o| o.fields.get(name)).is_some_and(|field| field.default.is_some());
            let extra = observed.keys().find(|name| exact && !desired.contains_key(*name) && !has_default(name));
            extra.map(|name| format!(".{}", cut(name, NAME)))
        }
        (Value::Array(desired), Value::Array(observed)) => list_difference(shape, desired, observed, exact),
        _ if matches!(shape, Shape::Quantity) => (!same_quantity(desired, observed)).then(String::new),
        _ => (!same_scalar(desired, observed)).then(String::new),
    }
}

/// Whether both are the same text or number, or the same quantity however it is written.
fn same_quantity(left: &Value, right: &Value) -> bool {
    let quantity = |value: &Value| match value {
        Value::String(text) => text.parse::<Quantity>().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    same_scalar(left, right) || quantity(left).is_some_and(|left| quantity(right) == Some(left))
}

/// The first place where `observed` does not hold what is desired.
pub(super) fn list_difference(shape: &Shape, desired: &[Value], observed: &[Value], exact: bool) -> Option<String> {
    let (items, kind) = match shape {
        Shape::List { items, kind } => (&**items, kind),
        _ => (&Shape::Any, &ListKind::Atomic),
    };
    match kind {
        ListKind::Set if !exact => set_difference(items, desired, observed),
        ListKind::Map(keys) if !exact => map_difference(items, keys, desired, observed),
        ListKind::Atomic | ListKind::Set | ListKind::Map(_) => {
            if desired.len() != observed.len() {
                return Some(String::new());
            }
            let mut pairs = desired.iter().zip(observed).enumerate();
            pairs.find_map(|(index, (value, held))| {
                difference(items, value, held, true).map(|path| format!("[{index}]{path}"))
            })
        }
    }
}

fn set_difference(items: &Shape, desired: &[Value], observed: &[Value]) -> Option<String> {
    let mut alike: HashMap<String, Vec<&Value>> = HashMap::with_capacity(observed.len());
    for held in observed {
        let held_alike = alike.entry(canonical(items, held)).or_default();
        if held_alike.len() < MOST_ALIKE {
            held_alike.push(held);
        }
    }
    let is_held = |value: &Value| {
        let candidates = alike.get(&canonical(items, value)).into_iter().flatten();
        candidates.into_iter().any(|held| difference(items, value, held, true).is_none())
    };
    desired.iter().position(|value| !is_held(value)).map(|index| format!("[{index}]"))
}

fn map_difference(items: &Shape, keys: &[String], desired: &[Value], observed: &[Value]) -> Option<String> {
    // One index for all elements that have all keys; one more for each way to leave some out.
    let mut indexes: HashMap<Vec<&str>, HashMap<String, &Value>> = HashMap::new();
    for (index, value) in desired.iter().enumerate() {
        let present: Vec<&str> = keys.iter().map(String::as_str).filter(|key| value.get(key).is_some()).collect();
        let ways = indexes.len();
        let by_keys = match indexes.entry(present) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(_) if ways >= MOST_WAYS => return Some(format!("[{index}]")),
            Entry::Vacant(new) => {
                let by_keys = by_keys(new.key(), observed);
                new.insert(by_keys)
            }
        };
        let present = keys.iter().map(String::as_str).filter(|key| value.get(key).is_some());
        let held = text_of(present, value).and_then(|text| by_keys.get(&text).copied());
        match held.map(|held| difference(items, value, held, false)) {
            Some(None) => {}
            Some(Some(path)) => return Some(format!("[{index}]{path}")),
            None => return Some(format!("[{index}]")),
        }
    }
    None
}

/// The first element with each value of these keys.
pub(super) fn by_keys<'a>(keys: &[&str], observed: &'a [Value]) -> HashMap<String, &'a Value> {
    let mut index = HashMap::with_capacity(observed.len());
    for held in observed {
        if let Some(text) = text_of(keys.iter().copied(), held) {
            index.entry(text).or_insert(held);
        }
    }
    index
}

/// The values of these keys as one text; `None` where one is missing.
pub(super) fn text_of<'k>(keys: impl Iterator<Item = &'k str>, element: &Value) -> Option<String> {
    let mut text = String::new();
    for key in keys {
        feed(&Shape::Any, element.get(key)?, &mut text);
    }
    Some(text)
}

/// A text that two values share if they are the same, and hardly else: without what is not compared (nulls, and fields
/// that have defaults), and with one way to write a number.
fn canonical(shape: &Shape, value: &Value) -> String {
    let mut text = String::new();
    feed(shape, value, &mut text);
    text
}

/// Texts go in with their lengths, so that no two values feed the same.
fn feed(shape: &Shape, value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push('~'),
        Value::Bool(value) => text.push(if *value { 't' } else { 'f' }),
        // Zero has two signs and is one number.
        Value::Number(number) => push(text, format_args!("n{:e};", number.as_f64().unwrap_or_default() + 0.0)),
        Value::String(value) => push(text, format_args!("s{}:{value}", value.len())),
        Value::Array(values) => {
            let items = if let Shape::List { items, .. } = shape { items } else { &Shape::Any };
            text.push('[');
            for value in values {
                feed(items, value, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let object = if let Shape::Object(object) = shape { Some(object) } else { None };
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            text.push('{');
            for name in names {
                let field = object.and_then(|object| object.fields.get(name));
                let value = &fields[name];
                if value.is_null() || field.is_some_and(|field| field.default.is_some()) {
                    continue;
                }
                push(text, format_args!("s{}:{name}", name.len()));
                feed(object.map_or(&Shape::Any, |object| object.inner(name)), value, text);
            }
            text.push('}');
        }
    }
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a text in memory does not fail.
    let _ = text.write_fmt(piece);
}
