//! The kinds that every API server serves: those of them that controllers here use.

mod roles;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    resource::{Resource, Rules},
    schema::object_meta,
};

pub(crate) const NAMESPACES: &str = "namespaces";

struct Kind {
    /// Group, version, kind, plural.
    names: [&'static str; 4],
    short_names: &'static [&'static str],
    namespaced: bool,
    status: bool,
    rules: Rules,
    /// All but `apiVersion`, `kind` and `metadata`.
    fields: Value,
    blank: Value,
}

fn text() -> Value {
    json!({"type": "string"})
}

/// A list of which only the whole is somebody's.
fn texts() -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": text()})
}

fn map(of: &Value) -> Value {
    json!({"type": "object", "additionalProperties": of})
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// A text that is told even where it is empty.
fn kept() -> Value {
    json!({"type": "string", "x-kept": true})
}

fn structure(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// Conditions, told apart by their type.
fn conditions(properties: &Value) -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": structure(properties)})
}

fn kinds() -> Vec<Kind> {
    let unconditional = Rules { unconditional: true, ..Rules::default() };
    let bytes = json!({"type": "string", "format": "byte"});
    let flag = json!({"type": "boolean"});
    let filled = json!({"type": "string", "default": ""});
    let mut kinds = vec![
        Kind {
            names: ["", "v1", "ConfigMap", "configmaps"],
            short_names: &["cm"],
            namespaced: true,
            status: false,
            rules: unconditional,
            fields: json!({"data": map(&filled), "binaryData": map(&bytes), "immutable": flag}),
            blank: json!({"metadata": {}}),
        },
        Kind {
            names: ["", "v1", "Secret", "secrets"],
            short_names: &[],
            namespaced: true,
            status: false,
            rules: unconditional,
            fields: json!({"data": map(&bytes), "stringData": map(&filled), "type": text(), "immutable": flag}),
            blank: json!({"metadata": {}}),
        },
        Kind {
            names: ["", "v1", "Namespace", NAMESPACES],
            short_names: &["ns"],
            namespaced: false,
            status: true,
            rules: unconditional,
            fields: json!({
                "spec": {"type": "object", "x-kept": true, "properties": {"finalizers": texts()}},
                "status": {"type": "object", "x-kept": true, "properties": {"phase": text(), "conditions": conditions(&json!({
                    "type": text(), "status": text(), "reason": text(), "message": text(), "lastTransitionTime": time()}))}},
            }),
            blank: json!({"metadata": {}, "spec": {}, "status": {}}),
        },
        Kind {
            names: ["coordination.k8s.io", "v1", "Lease", "leases"],
            short_names: &[],
            namespaced: true,
            status: false,
            rules: Rules { creates_on_update: true, ..Rules::default() },
            fields: json!({"spec": {"type": "object", "x-kept": true, "properties": {
                "holderIdentity": {"type": "string", "x-pointer": true}, "leaseDurationSeconds": {"type": "integer", "format": "int32"},
                "acquireTime": time(), "renewTime": time(), "leaseTransitions": {"type": "integer", "format": "int32"},
                "strategy": text(), "preferredHolder": text()}}}),
            blank: json!({"metadata": {}, "spec": {}}),
        },
        Kind {
            names: ["", "v1", "Event", "events"],
            short_names: &["ev"],
            namespaced: true,
            status: false,
            rules: Rules::default(),
            // It is only read: as that of events.k8s.io it is kept.
            fields: json!({}),
            blank: json!({"metadata": {}}),
        },
        Kind {
            names: ["events.k8s.io", "v1", "Event", "events"],
            short_names: &["ev"],
            namespaced: true,
            status: false,
            rules: Rules { creates_on_update: true, ..unconditional },
            fields: event(),
            blank: json!({"metadata": {}, "eventTime": null, "regarding": {}, "deprecatedSource": {},
                "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null}),
        },
        Kind {
            names: ["apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"],
            short_names: &["crd", "crds"],
            namespaced: false,
            status: true,
            rules: Rules::default(),
            fields: definition(),
            blank: json!({"metadata": {}, "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
                "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null}}),
        },
    ];
    kinds.extend(roles::kinds());
    kinds
}

fn event() -> Value {
    let reference = json!({"type": "object", "x-kubernetes-map-type": "atomic", "x-kept": true, "properties": {
        "apiVersion": text(), "kind": text(), "namespace": text(), "name": text(), "uid": text(),
        "resourceVersion": text(), "fieldPath": text()}});
    let mut related = reference.clone();
    related["x-kept"] = json!(false);
    json!({
        "eventTime": time(), "reportingController": text(), "reportingInstance": text(), "action": text(),
        "reason": text(), "note": text(), "type": text(), "regarding": reference, "related": related,
        "series": structure(&json!({"count": {"type": "integer"}, "lastObservedTime": time()})),
        "deprecatedSource": {"type": "object", "x-kept": true, "properties": {"component": text(), "host": text()}},
        "deprecatedFirstTimestamp": {"type": "string", "format": "date-time", "x-kept": true},
        "deprecatedLastTimestamp": {"type": "string", "format": "date-time", "x-kept": true},
        "deprecatedCount": {"type": "integer"},
    })
}

/// What versions say is looked at elsewhere: to those who hold fields they are one value.
fn definition() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let names = json!({"type": "object", "x-kept": true, "properties": {
        "plural": kept(), "kind": kept(), "singular": text(), "listKind": text(), "shortNames": texts(), "categories": texts()}});
    json!({
        "spec": {"type": "object", "x-kept": true, "properties": {
            "group": kept(), "scope": kept(), "names": names, "preserveUnknownFields": {"type": "boolean"},
            "conversion": structure(&json!({"strategy": kept(), "webhook": any})),
            "versions": {"type": "array", "x-kubernetes-list-type": "atomic", "x-kept": true, "items": any}}},
        "status": {"type": "object", "x-kept": true, "properties": {
            "acceptedNames": names, "observedGeneration": {"type": "integer"},
            "storedVersions": {"type": "array", "x-kubernetes-list-type": "atomic", "x-kept": true, "items": text()},
            "conditions": {"type": "array", "x-kept": true, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": structure(&json!({"type": text(), "status": text(), "reason": text(), "message": text(),
                    "lastTransitionTime": time(), "observedGeneration": {"type": "integer"}}))}}},
    })
}

/// All of them.
pub(crate) fn resources() -> Vec<Resource> {
    let resource = |kind: Kind| {
        let [group, version, name, plural] = kind.names.map(str::to_owned);
        let mut properties = kind.fields;
        properties["apiVersion"] = text();
        properties["kind"] = text();
        properties["metadata"] = object_meta();
        properties["metadata"]["x-kept"] = json!(true);
        let schema = Arc::new(json!({"type": "object", "properties": properties}));
        Resource {
            list_kind: format!("{name}List"),
            singular: name.to_lowercase(),
            short_names: kind.short_names.iter().map(|name| (*name).to_owned()).collect(),
            categories: if plural == "customresourcedefinitions" {
                vec!["api-extensions".to_owned()]
            } else {
                Vec::new()
            },
            namespaced: kind.namespaced,
            status: kind.status,
            rules: kind.rules,
            since: 0,
            schema: Arc::clone(&schema),
            versions: vec![(version.clone(), schema)],
            blank: kind.blank,
            group,
            version,
            kind: name,
            plural,
        }
    };
    kinds().into_iter().map(resource).collect()
}
