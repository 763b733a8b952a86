//! Whether an object is as its CRD's schema says.

use std::{cell::RefCell, collections::HashMap};

use regex::Regex;
use serde_json::Value;

use super::{Relation, Schema, trail::Trail};
use crate::failure::Cause;

/// What is wrong with an object, its metadata left aside.
pub(crate) fn validate(schema: Schema<'_>, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    visit(schema, object, &Trail::Root, &mut causes);
    causes
}

fn visit(schema: Schema<'_>, value: &Value, path: &Trail<'_>, causes: &mut Vec<Cause>) {
    if value.is_null() && schema.says("nullable") {
        return;
    }
    if !has_type(schema, value) {
        causes.push(Cause::new("FieldValueTypeInvalid", path, format!("must be of type {}", schema.kind())));
        if value.is_null() {
            return;
        }
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        causes.push(Cause::new("FieldValueNotSupported", path, format!("supported values: {allowed:?}")));
    }
    match value {
        Value::String(text) => check_text(schema, text, path, causes),
        Value::Number(number) => check_number(schema, number.as_f64().unwrap_or_default(), path, causes),
        Value::Array(items) => {
            check_count(schema, items.len(), ["minItems", "maxItems"], path, causes);
            for (at, item) in items.iter().enumerate() {
                visit(schema.items(), item, &Trail::Item(path, at), causes);
            }
            check_elements(schema, items, path, causes);
        }
        Value::Object(fields) => {
            check_count(schema, fields.len(), ["minProperties", "maxProperties"], path, causes);
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
                causes.push(Cause::required(&Trail::Field(path, name)));
            }
            let is_root = matches!(path, Trail::Root);
            for (name, value) in fields.iter().filter(|(name, _)| !(is_root && *name == "metadata")) {
                visit(schema.field(name).unwrap_or(Schema::ANY), value, &Trail::Field(path, name), causes);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn has_type(schema: Schema<'_>, value: &Value) -> bool {
    match schema.kind() {
        "" if schema.is_int_or_string() => value.is_i64() || value.is_u64() || value.is_string(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        _ => true,
    }
}

fn bound(schema: Schema<'_>, name: &str) -> Option<f64> {
    schema.get(name).and_then(Value::as_f64)
}

fn count(schema: Schema<'_>, name: &str) -> Option<usize> {
    schema.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
}

fn check_text(schema: Schema<'_>, text: &str, path: &Trail<'_>, causes: &mut Vec<Cause>) {
    let length = text.chars().count();
    // Only the first is told.
    if count(schema, "maxLength").is_some_and(|most| length > most) {
        return causes.push(Cause::new("FieldValueTooLong", path, "it is too long"));
    }
    if count(schema, "minLength").is_some_and(|least| length < least) {
        return causes.push(Cause::invalid(path, "it is too short"));
    }
    let pattern = schema.get("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern
        && !matches(pattern, text)
    {
        causes.push(Cause::invalid(path, format!("it does not match {pattern}")));
    }
}

/// Whether a text matches a pattern, which may be none. To compile one takes longer than all else that is done with an object.
fn matches(pattern: &str, text: &str) -> bool {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
    }
    let fits = |regex: &Option<Regex>| regex.as_ref().is_none_or(|regex| regex.is_match(text));
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(regex) = compiled.get(pattern) {
            return fits(regex);
        }
        fits(compiled.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok()))
    })
}

fn check_number(schema: Schema<'_>, number: f64, path: &Trail<'_>, causes: &mut Vec<Cause>) {
    if schema.kind() == "integer" && number.fract() != 0.0 {
        causes.push(Cause::invalid("<nil>", "it is no integer"));
    }
    let excludes = |name| schema.says(name);
    let low = |least: f64| number < least || excludes("exclusiveMinimum") && number <= least;
    let high = |most: f64| number > most || excludes("exclusiveMaximum") && number >= most;
    if bound(schema, "minimum").is_some_and(low) || bound(schema, "maximum").is_some_and(high) {
        causes.push(Cause::invalid(path, "it is out of bounds"));
    }
    if bound(schema, "multipleOf").is_some_and(|of| (number / of).fract() != 0.0) {
        causes.push(Cause::invalid(path, "it is no multiple"));
    }
}

fn check_count(schema: Schema<'_>, found: usize, names: [&str; 2], path: &Trail<'_>, causes: &mut Vec<Cause>) {
    let [least, most] = names.map(|name| count(schema, name));
    if most.is_some_and(|most| found > most) {
        causes.push(Cause::new("FieldValueTooMany", path, "there are too many"));
    }
    if least.is_some_and(|least| found < least) {
        causes.push(Cause::invalid(path, "there are too few"));
    }
}

/// No two elements of a set or a map may be the same.
fn check_elements(schema: Schema<'_>, items: &[Value], path: &Trail<'_>, causes: &mut Vec<Cause>) {
    let key = |item: &Value| match schema.relation() {
        Relation::Atomic => None,
        Relation::Set => Some(vec![Some(item.clone())]),
        Relation::Keys(keys) => {
            let default = |name: &str| schema.items().declared(name).and_then(|field| field.get("default")).cloned();
            Some(keys.iter().map(|name| item.get(name).cloned().or_else(|| default(name))).collect())
        }
    };
    let mut seen = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(key) = key(item) else { return };
        if seen.contains(&key) {
            causes.push(Cause::new("FieldValueDuplicate", &Trail::Item(path, at), "it is there twice"));
        }
        seen.push(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_thing_that_is_wrong_is_told_with_its_place() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1}, "name": {"type": "string", "pattern": "^[a-z]+$"},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true}, "mode": {"type": "string", "enum": ["a", "b"]}}}}});
        let wrong = |spec: Value| {
            let causes = validate(Schema::of(&schema), &json!({"spec": spec}));
            causes.into_iter().map(|cause| format!("{cause:?}")).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(wrong(json!({"size": 1, "name": "a", "tags": ["a", "b"], "port": "http", "mode": "a"})), "");
        for (spec, expected) in [
            (json!({}), "spec.size"),
            (json!({"size": 0}), "spec.size"),
            (json!({"size": "x"}), "FieldValueTypeInvalid"),
            (json!({"size": 1, "name": "A"}), "spec.name"),
            (json!({"size": 1, "tags": ["a", "a"]}), "spec.tags[1]"),
            (json!({"size": 1, "port": true}), "spec.port"),
            (json!({"size": 1, "mode": "c"}), "FieldValueNotSupported"),
        ] {
            assert!(wrong(spec.clone()).contains(expected), "{spec}: {}", wrong(spec.clone()));
        }
    }
}
