//! Whether what a command prints with `-o json` is as its schema says (`cli/schemas`): as much of JSON Schema as those use, and
//! no field that a schema does not name.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value};

/// Panics where what a command has told does not fit its schema.
pub fn fits(command: &str, told: &Value) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cli/schemas").join(command).with_extension("json");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let root: Value = serde_json::from_str(&text).unwrap();
    if let Err(why) = check(&root, &root, told, command) {
        panic!("{} does not fit: {why}\n{told:#}", file.display());
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(target) = schema["$ref"].as_str() {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        check(root, found.ok_or_else(|| format!("{at}: there is no {target}"))?, value, at)?;
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        check(root, all, value, at)?;
    }
    for word in ["anyOf", "oneOf"] {
        let Some(choices) = schema[word].as_array() else { continue };
        let refused: Vec<String> = choices.iter().filter_map(|one| check(root, one, value, at).err()).collect();
        if refused.len() == choices.len() {
            return Err(refused.join("; or "));
        }
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{at} is {value}, not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        return Err(format!("{at} is {value}, which is none of {}", schema["enum"]));
    }
    let types = match &schema["type"] {
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    };
    if !types.is_empty() && !types.iter().any(|name| is(name, value)) {
        return Err(format!("{at} is {value}, not of type {}", types.join(" or ")));
    }
    match value {
        Value::Object(fields) => check_fields(root, schema, fields, at),
        Value::Array(items) if !schema["items"].is_null() => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check(root, &schema["items"], item, &format!("{at}[{index}]"))),
        _ => Ok(()),
    }
}

fn check_fields(root: &Value, schema: &Value, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
        return Err(format!("{at} has no {missing}"));
    }
    let Some(known) = schema["properties"].as_object() else { return Ok(()) };
    for (name, value) in fields {
        let at = format!("{at}.{name}");
        let field = known.get(name).ok_or_else(|| format!("{at} is not in the schema"))?;
        check(root, field, value, &at)?;
    }
    Ok(())
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let schema = json!({
            "$defs": {"Node": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "size": {"type": ["integer", "null"]}, "word": {"enum": ["a", "b"]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "free": {}, "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Node"}]}}}},
            "$ref": "#/$defs/Node",
        });
        let told = |value: Value| check(&schema, &schema, &value, "x").err().unwrap_or_default();
        let fits = json!({"name": "n", "size": null, "word": "a", "children": [{"name": "m"}], "free": {"y": 1}, "either": null});
        assert_eq!(told(fits), "");
        assert_eq!(told(json!({})), "x has no name");
        assert_eq!(told(json!({"name": 1})), "x.name is 1, not of type string");
        assert_eq!(
            told(json!({"name": "n", "children": [{"name": "m", "more": 1}]})),
            "x.children[0].more is not in the schema"
        );
        assert_eq!(told(json!({"name": "n", "word": "c"})), r#"x.word is "c", which is none of ["a","b"]"#);
        assert!(told(json!({"name": "n", "either": {}})).contains("; or x.either has no name"));
    }
}
