//! Leases.

use serde_json::{Value, json};

use crate::sequence::{LEASES, Sequence, at, object, sequence};

fn lease(metadata: &Value, spec: &Value) -> Value {
    object("coordination.k8s.io/v1", "Lease", metadata, json!({"spec": spec}))
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(LEASES, "a");
    let held = |by: &str| {
        json!({"holderIdentity": by, "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:01.500000Z", "leaseTransitions": 1})
    };
    vec![
        sequence("a lease is taken, renewed and lost")
            .get(path.clone())
            .post(LEASES, lease(&json!({"name": "a"}), &held("x")))
            .put(&path, lease(&json!({"name": "a", "resourceVersion": "${1#/metadata/resourceVersion}"}), &held("y")))
            .put(&path, lease(&json!({"name": "a", "resourceVersion": "${1#/metadata/resourceVersion}"}), &held("z")))
            .put(&path, lease(&json!({"name": "a"}), &held("z")))
            .put(
                &path,
                lease(
                    &json!({"name": "a", "resourceVersion": "${2#/metadata/resourceVersion}"}),
                    &json!({"holderIdentity": ""}),
                ),
            ),
        sequence("an update of no lease makes one")
            .put(&path, lease(&json!({"name": "a"}), &held("x")))
            .get(path.clone()),
        sequence("a lease is checked")
            .post(LEASES, lease(&json!({"name": "a"}), &json!({"leaseDurationSeconds": 0, "leaseTransitions": -1})))
            .post(LEASES, lease(&json!({"name": "a"}), &json!({"leaseDurationSeconds": "x"})))
            .post(LEASES, lease(&json!({"name": "a"}), &json!({"renewTime": "x"}))),
    ]
}
