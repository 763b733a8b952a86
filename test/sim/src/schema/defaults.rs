//! What a schema says where nothing else is said.

use serde_json::Value;

use super::Schema;

/// Fills in the defaults. A null that may not be one counts as nothing.
pub(crate) fn default(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in schema.declared_names() {
                let Some(default) = field.get("default") else { continue };
                let missing = fields.get(name).is_none_or(|held| held.is_null() && !field.says("nullable"));
                if missing {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                default(schema.field(name).unwrap_or(Schema::ANY), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(schema.items(), item)),
        _ => {}
    }
}

/// Takes out what is null and may not be, unless something else is said in its place.
pub(crate) fn drop_nulls(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let may_stay = |field: Schema<'_>| field.says("nullable") || field.get("default").is_some();
            fields.retain(|name, value| {
                let field = schema.declared(name).or_else(|| schema.get("additionalProperties").map(Schema::of));
                !value.is_null() || field.is_none_or(may_stay)
            });
            for (name, value) in fields {
                drop_nulls(schema.field(name).unwrap_or(Schema::ANY), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls(schema.items(), item)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_filled_in_where_something_is_there_to_hold_them() {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3},
            "none": {"type": "string", "nullable": true, "default": "x"},
            "deep": {"type": "object", "properties": {"b": {"type": "string", "default": "y"}}}}});
        let filled = |mut value: Value| {
            default(Schema::of(&schema), &mut value);
            value
        };
        assert_eq!(filled(json!({})), json!({"size": 3, "none": "x"}));
        assert_eq!(
            filled(json!({"size": null, "none": null, "deep": {}})),
            json!({"size": 3, "none": null, "deep": {"b": "y"}})
        );
    }
}
