use std::collections::BTreeSet;

use graphs_core::simple_schema::to_open_api;
use serde_json::{Map, Value, json};

use super::{each, is_better, numbers_alike, text};

/// Parts of the texts of errors that people look for.
const TOLD: [&str; 6] = [
    "unknown type: ",
    "cyclic dependency in type",
    "unknown marker: ",
    "empty marker key",
    "unclosed quote",
    "default value must be a valid ",
];

/// The schema that a spec makes, or why it makes none.
fn made(entry: &Value) -> Result<Value, String> {
    let spec = match entry.get("spec_yaml").and_then(Value::as_str) {
        Some(yaml) => serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?,
        None => entry["spec"].clone(),
    };
    let empty = Map::new();
    let types = if entry["types"].is_null() { Some(&empty) } else { entry["types"].as_object() };
    let spec = if spec.is_null() { Some(&empty) } else { spec.as_object() };
    match (spec, types) {
        (Some(spec), Some(types)) => to_open_api(spec, types).map_err(|error| error.to_string()),
        _ => Err("not a map".to_owned()),
    }
}

/// White space at the end, or nothing behind the bar: kro takes it for a marker without a name; here it means nothing.
fn is_unnamed(entry: &Value) -> bool {
    text(entry, "error").contains("marker key '' without a value")
}

/// Where kro took a separating bar for a marker, the same input is in the file a second time, as one that is done better.
fn is_lone_bar(entry: &Value) -> bool {
    let fields = entry["spec"].as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
    let mut markers = fields.filter_map(|field| field.split_once('|')).map(|(_, markers)| markers);
    let is_between = |markers: &str| markers.split_once(" | ").is_some_and(|(before, _)| before.contains('='));
    text(entry, "error").contains("unknown marker: |") && markers.any(is_between)
}

fn agree(entry: &Value) -> Result<(), String> {
    let made = made(entry);
    if is_better(entry) || is_unnamed(entry) || is_lone_bar(entry) {
        return better(entry, made);
    }
    match (made, entry.get("schema"), text(entry, "error")) {
        (Ok(made), Some(recorded), _) if numbers_alike(&made, recorded) => Ok(()),
        (Ok(made), ..) => Err(format!("makes {made}")),
        (Err(error), Some(_), _) => Err(format!("fails: {error}")),
        (Err(error), None, recorded) => {
            let lacks = |part: &&&str| recorded.contains(**part) && !error.contains(**part);
            TOLD.iter().find(lacks).map_or(Ok(()), |part| Err(format!("{error:?} lacks {part:?}")))
        }
    }
}

/// What is done better: a schema comes out, or none because a default is no JSON.
fn better(entry: &Value, made: Result<Value, String>) -> Result<(), String> {
    let note = text(entry, "better_note");
    match made {
        Ok(made) => {
            let defaults = made["properties"].as_object().into_iter().flat_map(Map::values);
            for field in defaults.filter(|field| !field["default"].is_null()) {
                let fits = match field["type"].as_str() {
                    Some("string") => field["default"].is_string(),
                    Some("boolean") => field["default"].is_boolean(),
                    _ => true,
                };
                if !fits {
                    return Err(format!("makes {made}"));
                }
            }
            let required: Vec<&Value> = made["required"].as_array().into_iter().flatten().collect();
            let names: BTreeSet<String> = required.iter().map(ToString::to_string).collect();
            if names.len() == required.len() { Ok(()) } else { Err(format!("makes {made}")) }
        }
        // A value that is not JSON is refused where it has to be JSON, and nowhere else.
        Err(error) if note.contains("not JSON") && error.contains("default is not JSON") => Ok(()),
        Err(error) => Err(format!("fails: {error}")),
    }
}

#[test]
fn schemas_are_as_recorded() {
    each("simple-schema.json", agree);
}

#[test]
fn the_comparison_can_fail() {
    let entry = |spec: &str, schema: Value| json!({"spec": {"f": spec}, "schema": schema});
    let right = json!({"type": "object", "properties": {"f": {"type": "integer", "minimum": 1.0}}});
    assert!(agree(&entry("integer | minimum=1", right.clone())).is_ok());
    assert!(agree(&entry("integer | minimum=2", right.clone())).is_err());
    assert!(agree(&entry("integers", right)).is_err());
    assert!(agree(&json!({"spec": {"f": "nope"}, "error": "field f: unknown type: nope"})).is_ok());
    assert!(agree(&json!({"spec": {"f": "string"}, "error": "field f: unknown type: nope"})).is_err());
}
