//! Whether a schema is structural: what an API server asks of a CRD's
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).

use serde_json::{Map, Value};

/// Why a schema is not structural, and where; `None`: it is.
pub(crate) fn flaw(schema: &Value) -> Option<String> {
    at(schema, "")
}

fn at(schema: &Value, place: &str) -> Option<String> {
    let wrong = |what: &str| Some(format!("{place}: {what}: {schema}"));
    let Some(fields) = schema.as_object() else { return wrong("no object") };
    let is_open = fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
        || fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let of = match fields.get("type").and_then(Value::as_str) {
        Some(of @ ("object" | "array" | "string" | "integer" | "number" | "boolean")) => of,
        None if is_open => "",
        _ => return wrong("no type"),
    };
    let has = |name: &str| fields.contains_key(name);
    for (name, only) in [
        ("properties", "object"),
        ("additionalProperties", "object"),
        ("required", "object"),
        ("items", "array"),
        ("x-kubernetes-list-type", "array"),
        ("pattern", "string"),
    ] {
        if has(name) && of != only {
            return wrong(name);
        }
    }
    if of == "array" && !has("items") {
        return wrong("a list of nothing");
    }
    if has("properties") && has("additionalProperties") {
        return wrong("both properties and additionalProperties");
    }
    values(fields, of).map_or_else(|| below(fields, place), wrong)
}

/// What is wrong with values that stand in a schema of this type.
fn values(fields: &Map<String, Value>, of: &str) -> Option<&'static str> {
    let fits = |value: &Value| match of {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    // A null is no default to an API server.
    if fields.get("default").is_some_and(|value| !fits(value) && !value.is_null()) {
        return Some("a default of another type");
    }
    if fields.get("enum").is_some_and(|all| !all.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(fits)))
    {
        return Some("a choice of another type");
    }
    let required = fields.get("required").map(|all| all.as_array().cloned().unwrap_or_default());
    let properties = fields.get("properties").and_then(Value::as_object);
    let is_known = |name: &Value| {
        let name = name.as_str();
        name.is_some_and(|name| properties.is_some_and(|properties| properties.contains_key(name)))
    };
    required.is_some_and(|names| names.is_empty() || !names.iter().all(is_known)).then_some("a required field is none")
}

fn below(fields: &Map<String, Value>, place: &str) -> Option<String> {
    let properties = fields.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut inner = properties
        .map(|(name, schema)| (name.as_str(), schema))
        .chain(["items", "additionalProperties"].into_iter().filter_map(|name| Some((name, fields.get(name)?))));
    // Anything may be in a map whose values nobody describes.
    inner.find_map(|(name, schema)| if schema.is_boolean() { None } else { at(schema, &format!("{place}.{name}")) })
}
