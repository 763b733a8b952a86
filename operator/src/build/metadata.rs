//! Metadata of a Broker's objects.

use serde_json::{Value, json};

use crate::{owner::Owner, program::Program};

/// Of an object in the Broker's namespace: it goes when the Broker goes.
pub(super) fn owned(owner: &Owner, program: Program, name: &str) -> Value {
    json!({
        "name": name,
        "namespace": owner.namespace,
        "labels": program.labels(owner),
        "ownerReferences": [owner.reference()],
    })
}

/// Of an object elsewhere, where references to owners do not reach.
pub(super) fn labelled(owner: &Owner, program: Program, name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) if namespace == owner.namespace => owned(owner, program, name),
        Some(namespace) => json!({"name": name, "namespace": namespace, "labels": program.labels(owner)}),
        None => json!({"name": name, "labels": program.labels(owner)}),
    }
}
