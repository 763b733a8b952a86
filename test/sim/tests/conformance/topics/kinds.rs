//! The kinds that all sequences have.

use serde_json::{Value, json};

/// A CRD.
pub(crate) fn definition(group: &str, kind: &str, scope: &str, versions: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": versions},
    })
}

/// A version with a schema, with or without a status of its own.
pub(crate) fn version(name: &str, status: bool, schema: &Value) -> Value {
    let subresources = if status { json!({"status": {}}) } else { json!({}) };
    json!({"name": name, "served": true, "storage": true, "subresources": subresources,
        "schema": {"openAPIV3Schema": schema}})
}

fn widget() -> Value {
    let text = json!({"type": "string"});
    let ports = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "label": text}}});
    let conditions = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "required": ["type"], "properties": {"type": text, "status": text, "message": text}}});
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 100},
            "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
            "name": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 8},
            "note": {"type": "string", "nullable": true},
            "ratio": {"type": "number"}, "enabled": {"type": "boolean"},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "ports": ports,
            "items": {"type": "array", "maxItems": 4, "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "labels": {"type": "object", "additionalProperties": text},
            "things": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer"}, "b": text}}},
            "settings": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"mode": text, "level": {"type": "integer"}}},
            "nested": {"type": "object", "properties": {"deep": {"type": "object", "properties": {
                "value": text, "other": {"type": "string", "default": "o"}}}}},
            "target": {"x-kubernetes-int-or-string": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        }},
        "status": {"type": "object", "properties": {"phase": text, "count": {"type": "integer"}, "conditions": conditions}},
    }})
}

fn gadget() -> Value {
    json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}, "mode": {"type": "string"},
            "inner": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}})
}

pub(crate) fn definitions() -> Vec<Value> {
    let group = "sim.example.org";
    vec![
        definition(group, "Widget", "Namespaced", &json!([version("v1", true, &widget())])),
        definition(group, "Gadget", "Namespaced", &json!([version("v1", false, &gadget())])),
        definition(
            group,
            "Planet",
            "Cluster",
            &json!([version("v1", false, &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))]),
        ),
    ]
}
