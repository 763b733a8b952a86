//! What markers do to the schema of a field.

use serde_json::{Map, Value, json};

use super::{
    MAX_DEFAULT_DEPTH,
    error::shown,
    marker::{self, Marker, Name},
    re2, scalar,
};
use crate::canonical::is_within;

/// Most keys that tell the elements of a list apart.
const MAX_LIST_KEYS: usize = 32;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const VALIDATIONS: &str = "x-kubernetes-validations";

/// The markers of one field.
#[derive(Debug)]
pub(super) struct Markers(Vec<Marker>);

impl Markers {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        marker::lex(text).map(Self)
    }

    /// Applies them in their order, and says whether the field is required.
    pub(super) fn apply(&self, schema: &mut Map<String, Value>) -> Result<bool, String> {
        let mut required = false;
        for Marker { name, value } in &self.0 {
            match name {
                Name::Required => required |= boolean(*name, value)?,
                Name::UniqueItems => {
                    needs(*name, schema, "array")?;
                    if boolean(*name, value)? {
                        set_list_type(schema, "set")?;
                    }
                }
                Name::ListType => {
                    needs(*name, schema, "array")?;
                    if !["atomic", "set", "map"].contains(&value.as_str()) {
                        let value = shown(value);
                        return Err(format!("unsupported value for listType {value:?}: write atomic, set or map"));
                    }
                    set_list_type(schema, value)?;
                }
                _ => apply(*name, value, schema)?,
            }
        }
        check_list(schema)?;
        Ok(required)
    }
}

/// The type of a list is said once: by `listType` or by `uniqueItems`, by the alias or by its use, or by all alike.
fn set_list_type(schema: &mut Map<String, Value>, wanted: &str) -> Result<(), String> {
    match schema.get(LIST_TYPE).and_then(Value::as_str) {
        Some(found) if found != wanted => Err(format!(
            "listType is {found} and {wanted} at once (uniqueItems=true makes a set): leave one of them out"
        )),
        _ => {
            set(schema, LIST_TYPE, wanted);
            Ok(())
        }
    }
}

/// Keys are for maps; they may stand before the marker that makes it one.
fn check_list(schema: &Map<String, Value>) -> Result<(), String> {
    let kind = schema.get(LIST_TYPE).and_then(Value::as_str).unwrap_or("not set");
    if schema.contains_key(LIST_MAP_KEYS) && kind != "map" {
        return Err(format!("listMapKey is given and listType is {kind}: write listType=map"));
    }
    Ok(())
}

fn apply(name: Name, value: &str, schema: &mut Map<String, Value>) -> Result<(), String> {
    match name {
        Name::Default => {
            let default = default(kind(schema), value)?;
            schema.insert("default".to_owned(), default);
        }
        Name::Description => {
            schema.remove("description");
            if !value.is_empty() {
                set(schema, "description", value);
            }
        }
        Name::Minimum | Name::Maximum => {
            let wrong = || format!("{} is no number: {:?}", name.as_str(), shown(value));
            set(schema, name.as_str(), scalar::number(value).ok_or_else(wrong)?);
        }
        Name::MinLength | Name::MaxLength | Name::MinItems | Name::MaxItems => {
            let wanted = if matches!(name, Name::MinItems | Name::MaxItems) { "array" } else { "string" };
            needs(name, schema, wanted)?;
            let wrong = || format!("{} is no whole number: {:?}", name.as_str(), shown(value));
            set(schema, name.as_str(), scalar::integer(value).ok_or_else(wrong)?);
        }
        Name::Pattern => {
            needs(name, schema, "string")?;
            if value.is_empty() {
                return Err("pattern is empty: leave the marker out".to_owned());
            }
            re2::check(value).map_err(|why| format!("pattern {:?} is not an RE2 expression: {why}", shown(value)))?;
            set(schema, "pattern", value);
        }
        Name::Enum => {
            let allowed = allowed(kind(schema), value)?;
            set(schema, "enum", allowed);
        }
        Name::Validation => {
            if value.trim().is_empty() {
                return Err("validation failed: the rule is empty; write validation=\"self > 0\"".to_owned());
            }
            push(schema, VALIDATIONS, json!({"rule": value, "message": "validation failed"}));
        }
        Name::Immutable => {
            if boolean(name, value)? {
                push(schema, VALIDATIONS, json!({"rule": "self == oldSelf", "message": "field is immutable"}));
            }
        }
        Name::ListMapKey => {
            needs(name, schema, "array")?;
            let keys = schema.get(LIST_MAP_KEYS).and_then(Value::as_array);
            if keys.is_some_and(|keys| keys.len() >= MAX_LIST_KEYS) {
                return Err(format!("more than {MAX_LIST_KEYS} listMapKey markers"));
            }
            if keys.into_iter().flatten().any(|key| key == value) {
                return Err(format!("duplicate listMapKey marker, value {:?}", shown(value)));
            }
            push(schema, LIST_MAP_KEYS, value.into());
        }
        Name::Required | Name::UniqueItems | Name::ListType => {}
    }
    Ok(())
}

fn kind(schema: &Map<String, Value>) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn needs(name: Name, schema: &Map<String, Value>, wanted: &str) -> Result<(), String> {
    let found = kind(schema);
    if found == wanted {
        return Ok(());
    }
    Err(format!("{} marker is only valid for {wanted} types, got type: {found}", name.as_str()))
}

fn boolean(name: Name, value: &str) -> Result<bool, String> {
    scalar::boolean(value).ok_or_else(|| format!("{} is true or false, not {:?}", name.as_str(), shown(value)))
}

fn set(schema: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    schema.insert(key.to_owned(), value.into());
}

fn push(schema: &mut Map<String, Value>, key: &str, value: Value) {
    let list = schema.entry(key).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(value);
    }
}

fn default(kind: &str, text: &str) -> Result<Value, String> {
    let wrong = |wanted: &str| format!("default value must be a valid {wanted}, got: {}", shown(text));
    match kind {
        "string" => Ok(Value::String(string(text))),
        "integer" => scalar::integer(text).map(Value::from).ok_or_else(|| wrong("integer")),
        "number" => scalar::number(text).ok_or_else(|| wrong("number")),
        "boolean" => scalar::boolean(text).map(Value::from).ok_or_else(|| wrong("boolean")),
        _ => {
            let value: Value = serde_json::from_str(text).map_err(|error| {
                format!("default is not JSON ({error}), got: {}: write [\"a\"] or {{\"a\": 1}}", shown(text))
            })?;
            // No API server takes the CRD otherwise; null is as good as no default to them.
            if !(value.is_null() || if kind == "array" { value.is_array() } else { value.is_object() }) {
                return Err(wrong(kind));
            }
            if is_within(&value, MAX_DEFAULT_DEPTH) {
                Ok(value)
            } else {
                Err(format!("default is nested more than {MAX_DEFAULT_DEPTH} levels deep"))
            }
        }
    }
}

/// kro puts the text between quotes and takes that for JSON, so `\n` is a line break; where that is no JSON the text stands
/// for itself.
fn string(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

fn allowed(kind: &str, text: &str) -> Result<Value, String> {
    let values = text.split(',').map(str::trim).map(|value| match kind {
        _ if value.is_empty() => Err("empty enum values are not allowed: write enum=\"a,b\"".to_owned()),
        "string" => Ok(Value::from(value)),
        "integer" => scalar::integer(value)
            .map(Value::from)
            .ok_or_else(|| format!("enum of an integer has {:?}, which is none", shown(value))),
        other => Err(format!("enum values only supported for string and integer types, got type: {other}")),
    });
    values.collect::<Result<Vec<_>, _>>().map(Value::Array)
}
