//! What the status of an AcceptAPI should be.

use broker_api::{condition, keys};
use broker_core::acceptance::AcceptId;
use runtime_effect::{condition::Condition, merge};
use runtime_engine::clock;
use runtime_fleet::object::Object;
use serde_json::{Value, json};

use super::registry::Entry;
use crate::broker::Broker;

/// What a patch is computed from.
fn precondition(held: &Object) -> Value {
    json!({"resourceVersion": held.resource_version.to_string(), "uid": &*held.uid})
}

/// The Go broker's finalizer is not needed and would keep the AcceptAPI from going: the patch that takes it away, if it is
/// there.
pub(super) fn finalizer_patch(held: &Object) -> Option<Value> {
    let value = held.value().ok().filter(|_| held.has_finalizers)?;
    let all: Vec<&str> =
        value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !all.contains(&keys::ACCEPTAPI_FINALIZER) {
        return None;
    }
    let kept: Vec<&str> = all.into_iter().filter(|finalizer| *finalizer != keys::ACCEPTAPI_FINALIZER).collect();
    let mut metadata = precondition(held);
    metadata["finalizers"] = json!(kept);
    Some(json!({"metadata": metadata}))
}

impl Broker {
    /// The merge patch that brings an AcceptAPI's status up to date, if it is not.
    pub(super) fn status_patch(&self, id: &AcceptId, entry: &Entry, held: &Object) -> Option<Value> {
        let value = held.value().ok()?;
        let (ready, reason, message) = self.verdict(id, entry);
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let (status, now) = (value.get("status").cloned().unwrap_or_else(|| json!({})), clock::now().text);
        let said = Condition { kind: condition::READY, status: ready, reason, message: &message };
        let mut conditions = vec![said.entry(&status, generation, &now)];
        let brokered = entry.gvr.as_ref().and_then(|gvr| self.brokered_at(&id.provider, gvr));
        if let Some(held) = brokered.and_then(|brokered| self.brake.told(&id.provider, &brokered.kind)) {
            let kind = condition::DELETIONS_HELD;
            let said = Condition { kind, status: true, reason: condition::ORIGINS_VANISHED, message: &held };
            conditions.push(said.entry(&status, generation, &now));
        }
        let desired = json!({
            "conditions": conditions,
            "placed": self.placed(id, entry.gvr.as_ref()),
            "observedGeneration": generation,
        });
        let diff = merge::diff(&status, &desired)?;
        Some(json!({"metadata": precondition(held), "status": diff}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finalized(finalizers: &Value) -> Option<Value> {
        let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "5", "finalizers": finalizers});
        let object = crate::conventions::object(&json!({"metadata": metadata})).1;
        finalizer_patch(&object).map(|patch| patch["metadata"].clone())
    }

    #[test]
    fn only_the_go_brokers_finalizer_is_taken_away() {
        let theirs = json!(["theirs/one", keys::ACCEPTAPI_FINALIZER]);
        let patch = json!({"uid": "u", "resourceVersion": "5", "finalizers": ["theirs/one"]});
        assert_eq!(finalized(&theirs), Some(patch));
        assert_eq!(finalized(&json!(["theirs/one"])), None);
        assert_eq!(finalized(&json!([])), None);
    }
}
