//! What every object's `metadata` holds, whatever its kind's schema says of it. See
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// The schema of the `metadata` that objects of every kind have.
pub static OBJECT_META: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let moment = json!({"type": "string", "format": "date-time"});
    let yes_or_no = json!({"type": "boolean"});
    let texts = json!({"type": "object", "additionalProperties": text});
    json!({"type": "object", "properties": {
        "annotations": texts,
        "creationTimestamp": moment,
        "deletionGracePeriodSeconds": number,
        "deletionTimestamp": moment,
        "finalizers": {"type": "array", "items": text},
        "generateName": text,
        "generation": number,
        "labels": texts,
        "managedFields": {"type": "array", "items": {"type": "object", "properties": {
            "apiVersion": text,
            "fieldsType": text,
            "fieldsV1": {"type": "object"},
            "manager": text,
            "operation": text,
            "subresource": text,
            "time": moment,
        }}},
        "name": text,
        "namespace": text,
        "ownerReferences": {"type": "array", "items": {"type": "object", "properties": {
            "apiVersion": text,
            "blockOwnerDeletion": yes_or_no,
            "controller": yes_or_no,
            "kind": text,
            "name": text,
            "uid": text,
        }}},
        "resourceVersion": text,
        "selfLink": text,
        "uid": text,
    }})
});
