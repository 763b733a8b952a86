//! A configuration put over what is there.

use serde_json::{Map, Value};

use super::element::{self, Element};
use crate::schema::{Atom, Relation, Schema};

/// What is there with what is applied over it.
pub(crate) fn merge(schema: Schema<'_>, live: &Value, config: &Value) -> Value {
    match (schema.atom(config), live, config) {
        (Atom::Map { atomic: false }, Value::Object(live), Value::Object(config)) => {
            let mut merged: Map<String, Value> = live.clone();
            for (name, value) in config {
                let schema = schema.field(name).unwrap_or(Schema::ANY);
                let value = live.get(name).map_or_else(|| value.clone(), |live| merge(schema, live, value));
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        (Atom::List(relation), Value::Array(live), Value::Array(config)) if relation != Relation::Atomic => {
            Value::Array(merge_items(&relation, schema.items(), live, config))
        }
        _ => config.clone(),
    }
}

/// Elements of both, in the order of the configuration, and those that it does not have where they were among the others.
fn merge_items(relation: &Relation<'_>, items: Schema<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let keyed = |list: &[Value]| -> Vec<(Option<Element>, Value)> {
        list.iter().map(|item| (element::of_item(relation, items, item), item.clone())).collect()
    };
    let (left, right) = (keyed(live), keyed(config));
    let has = |list: &[(Option<Element>, Value)], key: &Option<Element>| list.iter().any(|(other, _)| other == key);
    let find = |key: &Option<Element>| left.iter().find(|(other, _)| other == key).map(|(_, item)| item);
    let shared: Vec<&Option<Element>> = right.iter().map(|(key, _)| key).filter(|key| has(&left, key)).collect();
    let (mut merged, mut next_shared, mut at_left, mut at_right) = (Vec::new(), 0, 0, 0);
    while at_left < left.len() || at_right < right.len() {
        if let (Some((key, _)), Some((wanted, _))) = (left.get(at_left), right.get(at_right)) {
            let comes_later = has(&right, key) && shared.get(next_shared).is_some_and(|next| *next != key);
            if key != wanted && comes_later {
                at_left += 1;
                continue;
            }
        }
        if let Some((key, item)) = left.get(at_left)
            && !has(&right, key)
        {
            merged.push(item.clone());
            at_left += 1;
            continue;
        }
        let Some((key, item)) = right.get(at_right) else {
            // It is in the configuration, and was taken from there.
            at_left += 1;
            continue;
        };
        merged.push(find(key).map_or_else(|| item.clone(), |live| merge(items, live, item)));
        at_right += 1;
        if left.get(at_left).is_some_and(|(other, _)| other == key) {
            at_left += 1;
        }
        if shared.get(next_shared).is_some_and(|next| *next == key) {
            next_shared += 1;
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_and_associative_lists_are_merged_and_the_rest_is_replaced() {
        let schema = json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "string"}}}});
        let merged = |live, config| merge(Schema::of(&schema), &live, &config);
        assert_eq!(
            merged(json!({"set": ["a", "b"], "list": ["x"], "kept": 1}), json!({"set": ["c", "b"], "list": []})),
            json!({"set": ["a", "c", "b"], "list": [], "kept": 1})
        );
        assert_eq!(
            merged(json!({"set": ["a", "b", "c"]}), json!({"set": ["c", "a"]})),
            json!({"set": ["b", "c", "a"]})
        );
    }
}
