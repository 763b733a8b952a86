//! Whole trees that tests compare: the spec of a generated CRD, and lists without times.

use e2e::Kind;
use serde_json::{Value, json};

/// `spec` of a generated CRD as an API server stores it. `schema`: the schema of `spec`, whole, and in `status` the fields
/// beside state and conditions.
pub(crate) fn generated_crd(kind: &Kind, schema: &Value) -> Value {
    let text = json!({"type": "string"});
    let mut status = json!({
        "state": text,
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text,
                    "observedGeneration": {"type": "integer"},
                },
            },
        },
    });
    for (name, field) in schema["status"].as_object().into_iter().flatten() {
        status[name] = field.clone();
    }
    let singular = kind.kind.to_lowercase();
    json!({
        "group": kind.group,
        "scope": "Namespaced",
        "conversion": {"strategy": "None"},
        "names": {
            "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": kind.plural, "singular": singular,
        },
        "versions": [{
            "name": kind.version,
            "served": true,
            "storage": true,
            "subresources": {"status": {}},
            "additionalPrinterColumns": columns(),
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "apiVersion": text,
                    "kind": text,
                    "metadata": {"type": "object"},
                    "spec": schema["spec"],
                    "status": {"type": "object", "properties": status},
                },
            }},
        }],
    })
}

/// The columns of a generated CRD that names none.
pub(crate) fn columns() -> Value {
    json!([
        {
            "name": "State", "type": "string", "jsonPath": ".status.state",
            "description": "The state of a ResourceGraphDefinition instance",
        },
        {
            "name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status",
            "description": "Whether a ResourceGraphDefinition instance is ready",
        },
        {
            "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": "Age of the resource",
        },
    ])
}

/// Conditions without the moment of their last transition, each of which must have one.
pub(crate) fn timeless(conditions: &Value) -> Value {
    let mut conditions = conditions.clone();
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let time = condition.as_object_mut().unwrap().remove("lastTransitionTime");
        assert!(time.as_ref().is_some_and(|time| time.as_str().is_some_and(|time| time.len() == 20)), "{time:?}");
    }
    conditions
}
