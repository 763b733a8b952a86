//! What an API server does to an object by its CRD's schema: pruning, defaulting, server-side apply. Written apart from
//! the code under test, so that an error there is not repeated here.

use serde_json::{Map, Value, json};

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

fn inner<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    const ANY: &Value = &Value::Null;
    if schema.is_null() {
        return Some(ANY);
    }
    if let Some(field) = properties(schema).and_then(|fields| fields.get(name)) {
        return Some(field);
    }
    if schema["additionalProperties"].is_object() {
        return Some(&schema["additionalProperties"]);
    }
    (schema["x-kubernetes-preserve-unknown-fields"] == true).then_some(ANY)
}

/// Removes what the schema does not have. A null schema has everything.
pub(crate) fn prune(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| inner(schema, name).is_some() && !value.is_null());
            for (name, value) in fields.iter_mut() {
                prune(inner(schema, name).unwrap(), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(&schema["items"], item)),
        _ => {}
    }
}

/// Fills in what the schema defaults.
pub(crate) fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in properties(schema).into_iter().flatten() {
                if !field["default"].is_null() && !fields.contains_key(name) {
                    fields.insert(name.clone(), field["default"].clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = inner(schema, name) {
                    default(schema, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(&schema["items"], item)),
        _ => {}
    }
}

/// Server-side apply with force of `new` by a manager who applied `old` before.
pub(crate) fn apply(schema: &Value, live: &mut Value, old: &Value, new: &Value) {
    let atomic = schema["x-kubernetes-map-type"] == "atomic";
    match (new, schema["x-kubernetes-list-type"].as_str()) {
        (Value::Object(wanted), _) if !atomic => {
            if !live.is_object() {
                *live = json!({});
            }
            for (name, old) in old.as_object().into_iter().flatten().filter(|(name, _)| !wanted.contains_key(*name)) {
                release(live, name, old);
            }
            for (name, wanted) in wanted {
                let field = inner(schema, name).unwrap_or(&Value::Null);
                apply(field, &mut live[name], &old[name], wanted);
            }
        }
        (Value::Array(wanted), Some("map")) => apply_map(schema, live, old, wanted),
        (Value::Array(wanted), Some("set")) => {
            let mut items = live.as_array().cloned().unwrap_or_default();
            let released =
                |item: &Value| old.as_array().is_some_and(|old| old.contains(item)) && !wanted.contains(item);
            items.retain(|item| !released(item));
            let missing: Vec<Value> = wanted.iter().filter(|item| !items.contains(item)).cloned().collect();
            items.extend(missing);
            *live = Value::Array(items);
        }
        _ => *live = new.clone(),
    }
}

/// Takes away a field that is no longer applied; what others put below it stays.
fn release(live: &mut Value, name: &str, old: &Value) {
    let Some(fields) = live.as_object_mut() else { return };
    let Some(held) = fields.get_mut(name) else { return };
    if let (Value::Object(_), Some(old)) = (&held, old.as_object()) {
        for (name, old) in old {
            release(held, name, old);
        }
        if held.as_object().unwrap().is_empty() {
            fields.remove(name);
        }
    } else {
        fields.remove(name);
    }
}

fn apply_map(schema: &Value, live: &mut Value, old: &Value, wanted: &[Value]) {
    let keys: Vec<&str> =
        schema["x-kubernetes-list-map-keys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    let same = |a: &Value, b: &Value| keys.iter().all(|key| a[*key] == b[*key]);
    if !live.is_array() {
        *live = json!([]);
    }
    let items = live.as_array_mut().unwrap();
    let gone = old.as_array().into_iter().flatten().filter(|old| !wanted.iter().any(|wanted| same(old, wanted)));
    for gone in gone {
        items.retain(|item| !same(item, gone));
    }
    for wanted in wanted {
        let before = old.as_array().and_then(|old| old.iter().find(|old| same(old, wanted))).unwrap_or(&Value::Null);
        match items.iter_mut().find(|item| same(item, wanted)) {
            Some(item) => apply(&schema["items"], item, before, wanted),
            None => items.push(wanted.clone()),
        }
    }
}

/// JSON merge patch (RFC 7386).
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, patch) in patch {
        if patch.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], patch);
        }
    }
}
