//! What an object looks like that has been read into a struct and written again.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::Schema;

/// Reads a value as a typed one: what is unknown or empty is left out, and a value of another type is an error, which this
/// tells for people.
pub(crate) fn tidy(schema: Schema<'_>, value: &mut Value) -> Result<(), String> {
    tidy_at(schema, value).map_err(|Misfit { path, why }| format!("{path}: {why}"))
}

/// Where a value is of another type, and why.
struct Misfit {
    path: String,
    why: String,
}

/// The same for what every object has, where that was looked at before.
pub(crate) fn tidy_metadata(object: &mut Value) {
    if object["metadata"].is_object() {
        let tidied = tidy(Schema::metadata(), &mut object["metadata"]);
        debug_assert!(tidied.is_ok(), "{tidied:?}");
    }
}

fn tidy_at(schema: Schema<'_>, value: &mut Value) -> Result<(), Misfit> {
    if value.is_null() {
        return Ok(());
    }
    check_type(schema, value).map_err(|why| Misfit { path: String::new(), why })?;
    match value {
        Value::Object(fields) => {
            if schema.kind() == "object" {
                fields.retain(|name, _| schema.field(name).is_some());
            }
            for (name, field) in schema.declared_names().filter(|(_, field)| field.says("x-kept")) {
                fields.entry(name.clone()).or_insert_with(|| nothing(field));
            }
            for (name, value) in fields.iter_mut() {
                tidy_at(schema.field(name).unwrap_or(Schema::ANY), value)
                    .map_err(|misfit| Misfit { path: format!(".{name}{}", misfit.path), ..misfit })?;
            }
            fields.retain(|name, value| schema.declared(name).is_none_or(|field| !is_left_out(field, value)));
            let map = schema.others().is_some_and(|others| others.kind() == "string");
            for value in fields.values_mut().filter(|value| map && value.is_null()) {
                *value = Value::String(String::new());
            }
        }
        Value::Array(items) => {
            for item in items {
                tidy_at(schema.items(), item)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// How a field without a value is written that is never left out.
fn nothing(field: Schema<'_>) -> Value {
    match (field.kind(), field.format()) {
        ("object", _) => Value::Object(serde_json::Map::new()),
        ("string", "") => Value::String(String::new()),
        _ => Value::Null,
    }
}

/// Fields without a value are not written, but for those that say otherwise.
fn is_left_out(field: Schema<'_>, value: &Value) -> bool {
    if field.says("x-kept") {
        return false;
    }
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() && !field.says("x-pointer"),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn check_type(schema: Schema<'_>, value: &Value) -> Result<(), String> {
    let fits = match schema.kind() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    };
    if !fits {
        return Err(format!("{value} is no {}", schema.kind()));
    }
    let text = value.as_str().unwrap_or_default();
    match schema.format() {
        "byte" if STANDARD.decode(text).is_err() => Err("it is not base64".to_owned()),
        "date-time" if text.parse::<Timestamp>().is_err() => Err("it is no time".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_empty_is_left_out_and_entries_of_maps_are_not() {
        let schema = json!({"type": "object", "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "string"}}, "flag": {"type": "boolean"}, "text": {"type": "string"}}});
        let tidied = |mut value: Value| tidy(Schema::of(&schema), &mut value).map(|()| value);
        let untidy = json!({"data": {"a": "", "b": null}, "list": [], "flag": false, "text": "", "unknown": 1});
        assert_eq!(tidied(untidy), Ok(json!({"data": {"a": "", "b": ""}, "flag": false})));
        assert_eq!(tidied(json!({"data": {}, "text": null})), Ok(json!({})));
        assert!(tidied(json!({"data": {"a": 1}})).is_err_and(|why| why.contains(".data.a")));
    }
}
