//! Fields that a kind does not have are not kept.

use serde_json::Value;

use super::Schema;

/// Takes away what the schema does not know.
pub(crate) fn prune(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if schema.kind() == "object" || schema.get("properties").is_some() {
                fields.retain(|name, _| schema.field(name).is_some());
            }
            for (name, value) in fields {
                prune(schema.field(name).unwrap_or(Schema::ANY), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(schema.items(), item)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_goes_and_what_is_to_be_kept_stays() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"c": {"type": "object", "properties": {}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string"}}}}}});
        let mut value = json!({"a": {"b": "1", "no": 1}, "map": {"k": {"x": 1, "y": 2}}, "free": {"any": {"z": 1}, "c": {"no": 1}},
            "list": [{"d": "1", "e": "2"}], "unknown": 1});
        prune(Schema::of(&schema), &mut value);
        assert_eq!(
            value,
            json!({"a": {"b": "1"}, "map": {"k": {"x": 1}}, "free": {"any": {"z": 1}, "c": {}}, "list": [{"d": "1"}]})
        );
    }
}
