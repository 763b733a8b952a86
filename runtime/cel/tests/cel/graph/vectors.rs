//! Everything that was recorded.

use std::{collections::BTreeMap, sync::Arc};

use runtime_cel::graph::{Evaluator, ValueType, Variable};
use serde_json::{Value, json};

use super::patient;

fn entries(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// The schemas of the recorded environments. A list is one of objects.
fn environments() -> BTreeMap<String, BTreeMap<String, ValueType>> {
    let all: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_str(include_str!("../../vectors/cel-schemas.json")).unwrap();
    let of = |schema: &Value| match schema.get("items") {
        Some(items) => ValueType::List(Arc::new(ValueType::of_object(items))),
        None => ValueType::of_object(schema),
    };
    let environment =
        |schemas: &BTreeMap<String, Value>| schemas.iter().map(|(name, schema)| (name.clone(), of(schema))).collect();
    all.iter().map(|(name, schemas)| (name.clone(), environment(schemas))).collect()
}

/// Numbers are the same when their values are.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

enum Checked {
    Right,
    /// It is for the checker of types to refuse it.
    Skipped,
    Wrong(String),
}

fn check(evaluator: &Evaluator, entry: &Value, environment: Option<&BTreeMap<String, ValueType>>) -> Checked {
    let source = entry["expr"].as_str().unwrap();
    let better = entry["better_note"].as_str();
    let stage = entry["error"]["stage"].as_str();
    if stage == Some("check") && better.is_none() {
        // Nor may it panic.
        let _ = evaluator.compile("", source);
        return Checked::Skipped;
    }
    let values = entry["vars"].as_object().cloned().unwrap_or_default();
    let variables: Vec<Variable<'_>> = values
        .iter()
        .map(|(name, value)| {
            let of = environment.and_then(|environment| environment.get(name)).cloned().unwrap_or_default();
            // As graphs bind them: of the instance nothing more will come.
            Variable { name, value: Arc::new(value.clone()), of, whole: name == "schema" }
        })
        .collect();
    let answer = match evaluator.compile("", source) {
        Err(error) if stage == Some("parse") => {
            return if error.is_pending() { Checked::Wrong("pending".into()) } else { Checked::Right };
        }
        Err(error) => Err(error),
        Ok(_) if stage == Some("parse") => return Checked::Wrong("is parsed".to_owned()),
        Ok(program) => evaluator.evaluate(&program, &variables),
    };
    let right = match (better, &answer) {
        (Some(note), answer) if note.starts_with("type names") => {
            // What has no form in JSON is an error all the same.
            answer.as_ref().map_or_else(
                |error| error.to_string().contains("no form in JSON"),
                |value| value == &json!(true) || value.is_string(),
            )
        }
        (Some(note), Err(error)) if note.contains("names the missing field of schema") => {
            !error.is_pending() && error.to_string().contains("is not set") && error.to_string().contains("schema.")
        }
        // base64 of 0xff 0x00 is bytes now, and no text.
        (Some(_), Err(error)) => error.to_string().contains("UTF-8"),
        (Some(_), Ok(_)) => false,
        (None, Ok(value)) => entry.get("error").is_none() && same(value, &entry["result"]),
        (None, Err(error)) => {
            let kind = if error.is_pending() { "pending" } else { "error" };
            entry["error"]["kind"] == kind
        }
    };
    if right { Checked::Right } else { Checked::Wrong(format!("{answer:?}")) }
}

#[test]
fn evaluates_as_recorded() {
    let (evaluator, environments) = (patient(), environments());
    let entries = entries(include_str!("../../vectors/cel-eval.json"));
    let (mut wrong, mut skipped) = (Vec::new(), 0);
    for entry in &entries {
        let environment = entry["env"].as_str().and_then(|name| environments.get(name));
        match check(&evaluator, entry, environment) {
            Checked::Right => {}
            Checked::Skipped => skipped += 1,
            Checked::Wrong(answer) => {
                let recorded = entry.get("error").unwrap_or(&entry["result"]);
                wrong.push(format!("[{}] {}\n    recorded {recorded}\n    here {answer}", entry["tag"], entry["expr"]));
            }
        }
    }
    println!("{} entries, {skipped} of them for the checker of types, {} differ", entries.len(), wrong.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(skipped * 5 < entries.len(), "{skipped} skipped");
}
