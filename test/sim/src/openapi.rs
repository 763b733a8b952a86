//! OpenAPI v3: what objects of each kind may look like.

use serde_json::{Map, Value, json};

use crate::{answer::Answer, kinds::Kinds, resource::Resource};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const REFERENCE: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What is answered to a path below `/openapi/v3`. `None`: it is none.
pub(crate) fn publish(kinds: &Kinds, path: &str) -> Option<Answer> {
    let rest = path.strip_prefix("/openapi/v3")?;
    let held = |resource: &Resource| group_path(resource) == rest;
    if rest.is_empty() {
        let mut paths = Map::new();
        for resource in kinds.all() {
            let path = group_path(resource);
            let url = json!({"serverRelativeURL": format!("/openapi/v3{path}")});
            paths.insert(path.trim_start_matches('/').to_owned(), url);
        }
        return Some(Answer::Json(200, json!({"paths": paths})));
    }
    let mut schemas = Map::new();
    for resource in kinds.all().filter(|resource| held(resource)) {
        schemas.insert(name(resource), schema(resource));
    }
    if schemas.is_empty() {
        return Some(Answer::Text(404, ""));
    }
    schemas.insert(META.to_owned(), metadata());
    let info = json!({"title": "Kubernetes", "version": "sim"});
    let mut document = json!({"openapi": "3.0.0", "info": info, "paths": {}, "components": {}});
    document["components"]["schemas"] = Value::Object(schemas);
    Some(Answer::Json(200, document))
}

fn group_path(resource: &Resource) -> String {
    let Resource { group, version, .. } = resource;
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The group backwards, version, kind.
fn name(resource: &Resource) -> String {
    if !resource.rules.custom {
        let group = resource.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
        return format!("io.k8s.api.{group}.{}.{}", resource.version, resource.kind);
    }
    let group: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

fn schema(resource: &Resource) -> Value {
    let mut schema = Value::clone(&resource.schema);
    let Resource { group, version, kind, .. } = resource;
    schema["x-kubernetes-group-version-kind"] = json!([{"group": group, "version": version, "kind": kind}]);
    refer(&mut schema);
    schema
}

/// Metadata are told of once, and what only this crate says of fields is not told.
fn refer(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|name, _| name != "x-kept" && name != "x-pointer");
    let embedded = fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let root = fields.contains_key("x-kubernetes-group-version-kind");
    if embedded {
        fields.insert("required".to_owned(), json!(["kind", "apiVersion"]));
    }
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        fields.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, schema) in properties.iter_mut() {
            if (root || embedded) && name == "metadata" {
                let default = schema.get("x-kept").is_some();
                *schema = json!({"allOf": [{"$ref": REFERENCE}]});
                if default {
                    schema["default"] = json!({});
                }
            } else {
                refer(schema);
            }
        }
    }
    for inner in ["items", "additionalProperties"] {
        fields.get_mut(inner).into_iter().for_each(refer);
    }
}

/// What every object has, as it is published.
fn metadata() -> Value {
    let time = json!({"allOf": [{"type": "string", "format": "date-time"}]});
    let (text, filled) = (json!({"type": "string"}), json!({"type": "string", "default": ""}));
    let texts = json!({"type": "object", "additionalProperties": filled});
    let entry = json!({"type": "object", "properties": {
        "apiVersion": text, "fieldsType": text, "fieldsV1": {"allOf": [{"type": "object"}]}, "manager": text,
        "operation": text, "subresource": text, "time": time}});
    let owner = json!({"type": "object", "x-kubernetes-map-type": "atomic", "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {"apiVersion": filled, "blockOwnerDeletion": {"type": "boolean"}, "controller": {"type": "boolean"},
            "kind": filled, "name": filled, "uid": filled}});
    json!({"type": "object", "properties": {
        "annotations": texts, "labels": texts, "creationTimestamp": time, "deletionTimestamp": time,
        "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
        "finalizers": {"type": "array", "items": filled, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
        "generateName": text, "generation": {"type": "integer", "format": "int64"},
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"allOf": [entry], "default": {}}},
        "name": text, "namespace": text, "resourceVersion": text, "selfLink": text, "uid": text,
        "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge",
            "items": {"allOf": [owner], "default": {}}},
    }})
}
