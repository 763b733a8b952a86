//! What an API server would refuse of an object, or drop, by the schema of its kind: fields that it does not have, values of
//! another type, fields that are missing.

use std::collections::BTreeSet;

use runtime_cel::pattern::Pattern;
use serde_json::Value;

use super::place::{Step, key};

/// The fields of every object, which no schema of a kind says anything of.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// How many names are told.
const TOLD: usize = 20;

/// What is wrong at a place.
pub(crate) type Flaw = (Vec<Step>, String);

/// What does not fit of an object, in its order; not that of its metadata.
pub(crate) fn flaws(schema: &Value, object: &Value) -> Vec<Flaw> {
    let mut walker = Walker { path: Vec::new(), flaws: Vec::new() };
    walker.required(schema, object);
    for (name, value) in object.as_object().into_iter().flatten() {
        if !COMMON.contains(&name.as_str()) {
            walker.field(schema, name, value);
        }
    }
    walker.flaws
}

struct Walker {
    path: Vec<Step>,
    flaws: Vec<Flaw>,
}

impl Walker {
    fn flaw(&mut self, what: String) {
        self.flaws.push((self.path.clone(), what));
    }

    fn at(&mut self, step: Step, schema: &Value, value: &Value) {
        self.path.push(step);
        self.value(schema, value);
        self.path.pop();
    }

    fn value(&mut self, schema: &Value, value: &Value) {
        // What is null is taken for not set.
        if value.is_null() {
            return;
        }
        let either = is(schema, "x-kubernetes-int-or-string");
        let found = type_of(value);
        match schema["type"].as_str().filter(|_| !either) {
            Some(wanted) if wanted != found && !(wanted == "number" && found == "integer") => {
                return self.flaw(format!("it is to be of type {wanted}, not {found}"));
            }
            None if either && found != "string" && found != "integer" => {
                return self.flaw(format!("it is to be a whole number or a string, not of type {found}"));
            }
            _ => {}
        }
        match value {
            Value::Object(fields) => {
                self.required(schema, value);
                for (name, value) in fields {
                    self.field(schema, name, value);
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.at(Step::Index(index), &schema["items"], element);
                }
            }
            Value::String(text) => self.text(schema, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, schema: &Value, text: &str) {
        let allowed: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !allowed.is_empty() && !allowed.contains(&text) {
            self.flaw(format!("{text:?} is none of {}", names(allowed.into_iter())));
        }
        let pattern = schema["pattern"].as_str().and_then(|pattern| Some((pattern, Pattern::compile(pattern).ok()?)));
        if let Some((pattern, _)) = pattern.filter(|(_, compiled)| !compiled.is_match(text)) {
            self.flaw(format!("{text:?} does not match {pattern}"));
        }
    }

    fn required(&mut self, schema: &Value, object: &Value) {
        let wanted = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in wanted.filter(|name| object[*name].is_null() && !COMMON.contains(name)) {
            self.flaw(format!("{name} is missing"));
        }
    }

    fn field(&mut self, schema: &Value, name: &str, value: &Value) {
        let properties = schema["properties"].as_object();
        if let Some(field) = properties.and_then(|fields| fields.get(name)) {
            return self.at(key(name), field, value);
        }
        match &schema["additionalProperties"] {
            values @ Value::Object(_) => return self.at(key(name), values, value),
            Value::Bool(true) => return,
            _ => {}
        }
        // One of which nothing is known holds anything.
        if is(schema, "x-kubernetes-preserve-unknown-fields") || schema["type"].is_null() {
            return;
        }
        let known: BTreeSet<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        self.path.push(key(name));
        self.flaw(format!("there is no such field; there are: {}", names(known.into_iter())));
        self.path.pop();
    }
}

fn is(schema: &Value, what: &str) -> bool {
    schema[what] == true
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        // A whole number is one however it is written.
        Value::Number(number) if number.as_f64().is_some_and(|value| value.fract() != 0.0) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > TOLD => format!("{}, …", names[..TOLD].join(", ")),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::simulate::place::told;

    fn found(object: &Value) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": {
            "apiVersion": { "type": "string" }, "kind": { "type": "string" }, "metadata": { "type": "object" },
            "spec": { "type": "object", "required": ["size"], "properties": {
                "size": { "type": "string", "pattern": "^[a-z]+$" },
                "class": { "type": "string", "enum": ["gold", "silver"] },
                "ratio": { "type": "number" },
                "port": { "x-kubernetes-int-or-string": true },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "list": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "integer" } } } },
                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } },
            "status": { "type": "object" } }, "required": ["metadata", "spec"] });
        flaws(&schema, object).into_iter().map(|(path, what)| format!("{}: {what}", told(&path))).collect()
    }

    #[test]
    fn what_fits_has_no_flaw() {
        let object = json!({ "kind": "A", "metadata": { "anything": 1 }, "spec": { "size": "big", "class": "gold", "ratio": 1,
            "port": "http", "labels": { "a.b": "c" }, "list": [{ "a": 1 }, { "a": 2.0 }, {}], "free": { "x": [1] } } });
        assert!(found(&object).is_empty(), "{:?}", found(&object));
    }

    #[test]
    fn each_flaw_is_told_with_its_path() {
        let object = json!({ "spec": { "class": "iron", "ratio": "1", "port": true, "labels": { "a": 1 },
            "list": [{ "a": 1.5, "b": 2 }], "sise": "big" } });
        let mut found = found(&object);
        found.sort();
        assert_eq!(
            found,
            [
                "spec.class: \"iron\" is none of gold, silver",
                "spec.labels.a: it is to be of type string, not integer",
                "spec.list[0].a: it is to be of type integer, not number",
                "spec.list[0].b: there is no such field; there are: a",
                "spec.port: it is to be a whole number or a string, not of type boolean",
                "spec.ratio: it is to be of type number, not string",
                "spec.sise: there is no such field; there are: class, free, labels, list, port, ratio, size",
                "spec: size is missing",
            ]
        );
        assert_eq!(self::found(&json!({})), [": spec is missing"]);
        assert_eq!(self::found(&json!({ "spec": { "size": "BIG" } })), ["spec.size: \"BIG\" does not match ^[a-z]+$"]);
    }
}
