//! Fields taken out of an object.

use serde_json::{Map, Value};

use super::{
    element,
    field_set::{FieldSet, Path},
};
use crate::schema::{Atom, Relation, Schema};

/// The object without these fields. What nothing is left of is null.
pub(crate) fn remove(schema: Schema<'_>, object: &Value, fields: &FieldSet) -> Value {
    without(schema, object, fields, &mut Vec::new())
}

fn without(schema: Schema<'_>, value: &Value, set: &FieldSet, path: &mut Path) -> Value {
    match (schema.atom(value), value) {
        (Atom::Map { atomic: false }, Value::Object(fields)) if !fields.is_empty() => {
            let mut left = Map::new();
            for (name, value) in fields {
                path.push(element::field(name));
                if !set.contains(path) {
                    let schema = schema.field(name).unwrap_or(Schema::ANY);
                    let below = set.reaches_below(path);
                    left.insert(name.clone(), if below { without(schema, value, set, path) } else { value.clone() });
                }
                path.pop();
            }
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        (Atom::List(relation), Value::Array(items)) if relation != Relation::Atomic && !items.is_empty() => {
            let mut left = Vec::new();
            for item in items {
                path.extend(element::of_item(&relation, schema.items(), item));
                if !set.contains(path) {
                    let below = set.reaches_below(path);
                    left.push(if below { without(schema.items(), item, set, path) } else { item.clone() });
                }
                path.pop();
            }
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nothing_is_left_of_is_null() {
        let schema = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}});
        let set = FieldSet::from_json(&json!({"f:m": {"f:a": {}}}));
        let removed = |object| remove(Schema::of(&schema), &object, &set);
        assert_eq!(removed(json!({"m": {"a": "1", "b": "2"}, "n": 1})), json!({"m": {"b": "2"}, "n": 1}));
        assert_eq!(removed(json!({"m": {"a": "1"}})), json!({"m": null}));
    }
}
