//! Metadata of a Broker's objects.

use serde_json::{Value, json};

use crate::owner::Owner;

/// Of an object in the Broker's namespace: it goes when the Broker goes.
pub(super) fn owned(owner: &Owner, name: &str) -> Value {
    json!({
        "name": name,
        "namespace": owner.namespace,
        "labels": owner.labels(),
        "ownerReferences": [owner.reference()],
    })
}

/// Of an object elsewhere, where references to owners do not reach.
pub(super) fn labelled(owner: &Owner, name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) if namespace == owner.namespace => owned(owner, name),
        Some(namespace) => json!({"name": name, "namespace": namespace, "labels": owner.labels()}),
        None => json!({"name": name, "labels": owner.labels()}),
    }
}
