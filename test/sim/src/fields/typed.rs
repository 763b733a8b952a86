//! Which fields a configuration has, and whether it can be applied at all.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    element,
    field_set::{FieldSet, Path},
};
use crate::schema::{Atom, Relation, Schema};

/// The fields that whoever applies this holds.
pub(crate) fn field_set(schema: Schema<'_>, object: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    collect(schema, object, &mut Vec::new(), &mut set);
    set
}

fn collect(schema: Schema<'_>, value: &Value, path: &mut Path, set: &mut FieldSet) {
    match (schema.atom(value), value) {
        (Atom::Scalar | Atom::Map { atomic: true } | Atom::List(Relation::Atomic), _) => set.insert(path),
        (Atom::Map { .. }, Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(element::field(name));
                collect(schema.field(name).unwrap_or(Schema::ANY), value, path, set);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if empty || schema.declared(name).is_none() {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Atom::List(relation), Value::Array(items)) => {
            for item in items {
                let Some(key) = element::of_item(&relation, schema.items(), item) else { continue };
                path.push(key);
                collect(schema.items(), item, path, set);
                set.insert(path);
                path.pop();
            }
        }
        _ => {}
    }
}

/// What stands against applying a configuration, for people.
pub(crate) fn check(schema: Schema<'_>, object: &Value) -> Result<(), String> {
    check_at(schema, object, "")
}

fn check_at(schema: Schema<'_>, value: &Value, path: &str) -> Result<(), String> {
    let wrong = |expected: &str| Err(format!("{path}: expected {expected}, got {value}"));
    if value.is_null() {
        return Ok(());
    }
    match schema.kind() {
        "string" if !value.is_string() => return wrong("string"),
        "integer" | "number" if !value.is_number() => return wrong("numeric (int or float)"),
        "boolean" if !value.is_boolean() => return wrong("boolean"),
        "object" if !value.is_object() => return wrong("map"),
        "array" if !value.is_array() => return wrong("list"),
        "" if schema.is_int_or_string() && (value.is_object() || value.is_array()) => return wrong("scalar"),
        _ => {}
    }
    match (schema.atom(value), value) {
        (Atom::Map { .. }, Value::Object(fields)) => {
            for (name, value) in fields {
                let at = format!("{path}.{name}");
                let Some(field) = schema.field(name) else { return Err(format!("{at}: field not declared in schema")) };
                check_at(field, value, &at)?;
            }
        }
        (Atom::List(relation), Value::Array(items)) => {
            let mut seen = BTreeSet::new();
            for (at, item) in items.iter().enumerate() {
                check_at(schema.items(), item, &format!("{path}[{at}]"))?;
                if relation == Relation::Atomic {
                    continue;
                }
                let Some(key) = element::of_item(&relation, schema.items(), item) else {
                    return Err(format!("{path}: element {at}: a key is missing"));
                };
                if !seen.insert(key) {
                    return Err(format!("{path}: duplicate entries for one key"));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_maps_are_fields_and_structs_are_not() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "empty": {"type": "object", "properties": {}},
            "list": {"type": "array", "items": {"type": "string"}},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": {"type": "object", "properties": {"port": {"type": "integer"}, "n": {"type": "string"}}}}}}}});
        let object =
            json!({"spec": {"map": {"a": {"x": 1}}, "empty": {}, "list": ["a"], "ports": [{"port": 80, "n": "h"}]}});
        let schema = Schema::of(&schema);
        check(schema, &object).unwrap();
        assert_eq!(
            field_set(schema, &object).to_json(),
            json!({"f:spec": {"f:empty": {}, "f:list": {}, "f:map": {"f:a": {".": {}, "f:x": {}}},
                "f:ports": {r#"k:{"port":80}"#: {".": {}, "f:n": {}, "f:port": {}}}}})
        );
        for wrong in [
            json!({"spec": {"no": 1}}),
            json!({"spec": {"list": [1]}}),
            json!({"spec": {"ports": [{"port": 1}, {"port": 1}]}}),
        ] {
            assert!(check(schema, &wrong).is_err(), "{wrong}");
        }
    }
}
