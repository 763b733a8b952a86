//! What RGDs and instances say of themselves, whole.

use serde_json::{Value, json};

fn condition(kind: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": kind, "status": "True", "reason": reason, "message": message, "observedGeneration": generation,
    })
}

/// The conditions of an RGD that is served, without times.
pub(crate) fn rgd_conditions(kind: &str, generation: i64, revision: i64) -> Value {
    let revision = format!("revision {revision} compiled and active");
    let kind = format!("kind {kind} has been accepted and ready");
    json!([
        condition("GraphRevisionsResolved", "Resolved", &revision, generation),
        condition("GraphAccepted", "Valid", "resource graph and schema are valid", generation),
        condition("KindReady", "Ready", &kind, generation),
        condition("ControllerReady", "Running", "controller is running", generation),
        condition("Ready", "Ready", "", generation),
    ])
}

/// The conditions of an instance of which all is there, without times.
pub(crate) fn instance_conditions(generation: i64) -> Value {
    let managed = "instance is properly managed with finalizers and labels";
    let resolved = "runtime graph created and all resources resolved";
    json!([
        condition("InstanceManaged", "Managed", managed, generation),
        condition("GraphResolved", "Resolved", resolved, generation),
        condition("ResourcesReady", "AllResourcesReady", "all resources are created and ready", generation),
        condition("Ready", "Ready", "", generation),
    ])
}
