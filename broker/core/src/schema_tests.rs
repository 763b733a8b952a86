//! Tests of [`super::Schema`].

use serde_json::json;

use super::*;

fn schema() -> Schema {
    Schema::compile(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"},
                "n": {"type": "number"},
                "size": {"type": "integer", "default": 3},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"},
                        "protocol": {"type": "string", "default": "TCP"}}}},
                "plain": {"type": "array", "items": {"type": "object", "properties": {
                    "x": {"type": "integer"}, "y": {"type": "integer"}, "d": {"type": "integer", "default": 0}}}},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
            }},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}, "count": {"type": "integer", "default": 0}}}
        }
    }))
}

#[track_caller]
fn same(desired: &Value, observed: &Value) {
    assert_eq!(schema().difference(&json!({"spec": desired}), &json!({"spec": observed})), None);
}

#[track_caller]
fn differs(path: &str, desired: &Value, observed: &Value) {
    let found = schema().difference(&json!({"spec": desired}), &json!({"spec": observed}));
    assert_eq!(found.as_deref(), Some(path));
}

#[test]
fn what_is_not_in_the_schema_is_pruned_and_named() {
    let mut lost = Vec::new();
    let fitted = schema().fit(
        &json!({"spec": {"a": "x", "zz": 1, "free": {"any": 1}, "map": {"k": "v"}, "plain": [{"x": 1, "q": 2}]}}),
        &mut lost,
    );
    assert_eq!(fitted, json!({"spec": {"a": "x", "free": {"any": 1}, "map": {"k": "v"}, "plain": [{"x": 1}]}}));
    assert_eq!(lost, ["spec.plain[0].q", "spec.zz"]);
}

#[test]
fn a_null_where_none_can_be_is_dropped() {
    let fitted = schema().fit(&json!({"spec": {"a": null}}), &mut Vec::new());
    assert_eq!(fitted, json!({"spec": {}}));
}

#[test]
fn defaults_and_fields_of_others_are_no_difference() {
    same(&json!({"a": "x"}), &json!({"a": "x", "size": 3, "map": {"theirs": "y"}}));
    same(&json!({"n": 1}), &json!({"n": 1.0}));
    same(
        &json!({"ports": [{"name": "web"}]}),
        &json!({"ports": [{"name": "theirs"}, {"name": "web", "protocol": "TCP"}]}),
    );
    same(&json!({"tags": ["b"]}), &json!({"tags": ["a", "b"]}));
    same(&json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1, "d": 0}]}));
}

#[test]
fn changed_or_missing_values_are_differences() {
    differs("spec.a", &json!({"a": "x"}), &json!({"a": "y"}));
    differs("spec.a", &json!({"a": "x"}), &json!({}));
    differs(
        "spec.ports[0].port",
        &json!({"ports": [{"name": "web", "port": 1}]}),
        &json!({"ports": [{"name": "web", "port": 2}]}),
    );
    differs("spec.tags[0]", &json!({"tags": ["c"]}), &json!({"tags": ["a", "b"]}));
}

#[test]
fn an_atomic_list_is_compared_as_a_whole() {
    differs("spec.plain", &json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1}, {"x": 2}]}));
    differs("spec.plain[0].y", &json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1, "y": 2}]}));
}

#[test]
fn a_stored_status_is_pruned_and_defaulted() {
    assert_eq!(schema().stored_status(&json!({"phase": "Up", "gone": 1})), json!({"phase": "Up", "count": 0}));
    assert_eq!(schema().status_has("phase"), Some(true));
    assert_eq!(schema().status_has("conditions"), Some(false));
    assert_eq!(Schema::any().status_has("conditions"), None);
}
