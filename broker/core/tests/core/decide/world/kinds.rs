//! The kinds of the world, and what each side's CRD says of them.

use objects::KindRule;
use runtime_effect::kind::Kind;
use serde_json::{Value, json};

fn kind_of(group: &str, version: &str, kind: &str) -> Kind {
    Kind { group: group.into(), version: version.into(), kind: kind.into() }
}

pub(crate) fn certificate() -> Kind {
    kind_of("example.platform-mesh.io", "v1alpha1", "Certificate")
}

pub(crate) fn secret() -> Kind {
    kind_of("", "v1", "Secret")
}

pub(crate) fn config_map() -> Kind {
    kind_of("", "v1", "ConfigMap")
}

fn rule(spec: &Value, status: &Value) -> KindRule {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {
        "apiVersion": text, "kind": text, "metadata": {"type": "object"}, "spec": spec, "status": status,
    }});
    KindRule { schema, has_status: true, namespaced: true, published: true, webhook: None }
}

fn conditions(with_generation: bool) -> Value {
    let mut fields = json!({});
    for name in ["type", "status", "reason", "message", "lastTransitionTime"] {
        fields[name] = json!({"type": "string"});
    }
    if with_generation {
        fields["observedGeneration"] = json!({"type": "integer"});
    }
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "properties": fields}})
}

fn related_resources() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
}

fn ports(protocol: &Value) -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "port": {"type": "integer"}, "protocol": protocol}}})
}

/// The consumer's CRD: has `spec.note`, which the provider's has not; lacks `status.internal`.
pub(crate) fn consumer_rule() -> KindRule {
    let spec = json!({"type": "object", "properties": {
        "fqdn": {"type": "string"},
        "size": {"type": "integer"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "owners": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": ports(&json!({"type": "string"})),
        "disks": {"type": "array", "items": {"type": "object", "properties": {"gb": {"type": "integer"}}}},
        "limits": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"},
        "replicas": {"type": "integer", "default": 1},
        "observedGeneration": {"type": "integer"},
        "conditions": conditions(true),
        "relatedResources": related_resources(),
    }});
    rule(&spec, &status)
}

/// The provider's CRD: defaults `spec.tier`, a port's protocol and a disk's class.
pub(crate) fn provider_rule() -> KindRule {
    let protocol = json!({"type": "string", "default": "TCP"});
    let spec = json!({"type": "object", "properties": {
        "fqdn": {"type": "string"},
        "size": {"type": "integer"},
        "tier": {"type": "string", "default": "standard"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "owners": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": ports(&protocol),
        "disks": {"type": "array", "items": {"type": "object", "properties": {
            "gb": {"type": "integer"}, "class": {"type": "string", "default": "hdd"}}}},
        "limits": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"},
        "internal": {"type": "string"},
        "observedGeneration": {"type": "integer"},
        "conditions": conditions(true),
        "relatedResources": related_resources(),
    }});
    rule(&spec, &status)
}
