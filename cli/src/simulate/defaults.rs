//! The values that an API server fills in where an object does not set a field, and the nulls that it drops, by the schema of
//! its kind.

use serde_json::Value;

/// Fills in what is not set. What is null counts as not set where the field does not take null, and goes where there is nothing
/// to fill in.
pub(crate) fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let is_null = fields.get(name).is_some_and(Value::is_null) && field["nullable"] != true;
                match field.get("default") {
                    Some(default) if is_null || !fields.contains_key(name) => {
                        fields.insert(name.clone(), default.clone());
                    }
                    None if is_null => {
                        fields.remove(name);
                    }
                    _ => {}
                }
            }
            for (name, inner) in fields {
                match schema["properties"].get(name) {
                    Some(field) => fill(field, inner),
                    None => fill(&schema["additionalProperties"], inner),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| fill(&schema["items"], element)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_set_is_filled_in_at_every_level() {
        let port = json!({ "type": "object", "properties": { "protocol": { "type": "string", "default": "TCP" } } });
        let schema = json!({ "type": "object", "properties": {
            "replicas": { "type": "integer", "default": 2 },
            "none": { "type": "string", "nullable": true, "default": "x" },
            "ingress": { "type": "object", "default": {}, "properties": { "enabled": { "type": "boolean", "default": false } } },
            "bare": { "type": "object", "properties": { "a": { "type": "string", "default": "b" } } },
            "ports": { "type": "array", "items": port },
            "named": { "type": "object", "additionalProperties": port } } });
        let mut value = json!({ "replicas": null, "none": null, "bare": null, "ports": [{ "port": 1 }], "named": { "a": { "protocol": "UDP" }, "b": {} } });
        fill(&schema, &mut value);
        assert_eq!(
            value,
            json!({ "replicas": 2, "none": null, "ingress": { "enabled": false }, "ports": [{ "port": 1, "protocol": "TCP" }],
                "named": { "a": { "protocol": "UDP" }, "b": { "protocol": "TCP" } } })
        );
    }
}
