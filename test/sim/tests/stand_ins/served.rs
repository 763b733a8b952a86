//! `Served`: the kind that a story is about.

use harness::Dice;
use objects::KindRule;
use runtime_effect::kind::Kind;
use serde_json::{Value, json};

pub(crate) struct Served {
    pub(crate) kind: Kind,
    pub(crate) plural: &'static str,
    pub(crate) has_status: bool,
    /// Of its CRD; null where every API server has it.
    pub(crate) schema: Value,
}

fn keyed(key: &str, fields: &[&str], default: Option<(&str, &str)>) -> Value {
    let mut properties = json!({});
    for field in fields {
        let of = if ["port", "observedGeneration"].contains(field) { "integer" } else { "string" };
        properties[*field] = json!({"type": of});
    }
    if let Some((field, value)) = default {
        properties[field]["default"] = json!(value);
    }
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
        "items": {"type": "object", "properties": properties}})
}

/// What `content` makes; with defaults, or with a note.
fn schema(has_defaults: bool) -> Value {
    let text = json!({"type": "string"});
    let map = |of: &Value| json!({"type": "object", "additionalProperties": of});
    let gb = json!({"type": "integer"});
    let mut spec = json!({"fqdn": text, "size": {"type": "integer"}, "limits": map(&text),
        "tags": {"type": "array", "items": text},
        "owners": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "ports": keyed("name", &["name", "port", "protocol"], has_defaults.then_some(("protocol", "TCP"))),
        "disks": {"type": "array", "items": {"type": "object", "properties": {"gb": gb}}}});
    if has_defaults {
        spec["tier"] = json!({"type": "string", "default": "standard"});
        spec["disks"]["items"]["properties"]["class"] = json!({"type": "string", "default": "hdd"});
    } else {
        spec["note"] = text.clone();
    }
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let conditions = keyed("type", &["type", "status", "reason", "message", "observedGeneration"], None);
    let status = json!({"phase": text, "replicas": {"type": "integer", "default": 1}, "conditions": conditions,
        "relatedResources": map(&any)});
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": spec}, "status": {"type": "object", "properties": status}}})
}

impl Served {
    pub(crate) fn one_of(dice: &mut Dice) -> Self {
        let built_in = |kind, plural| Self { kind: Kind::core(kind), plural, has_status: false, schema: Value::Null };
        let certificate = |schema: Value| {
            let kind = Kind { group: "example.org".into(), version: "v1".into(), kind: "Certificate".into() };
            Self { kind, plural: "certificates", has_status: true, schema }
        };
        match dice.below(4) {
            0 => built_in("ConfigMap", "configmaps"),
            1 => built_in("Secret", "secrets"),
            2 => certificate(schema(false)),
            _ => certificate(schema(true)),
        }
    }

    /// What the stand-in knows of it.
    pub(crate) fn rule(&self) -> KindRule {
        let opaque: fn(&mut Value) = |secret| {
            if secret["type"].is_null() {
                secret["type"] = json!("Opaque");
            }
        };
        let webhook = (self.plural == "secrets").then_some(opaque);
        KindRule { schema: self.schema.clone(), has_status: self.has_status, webhook, ..KindRule::free() }
    }
}
