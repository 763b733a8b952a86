//! What the status of an AcceptAPI should be.

use broker_api::{condition, keys};
use broker_core::acceptance::AcceptId;
use runtime_effect::{
    condition::Condition,
    report::{self, Report},
};
use runtime_engine::clock;
use runtime_fleet::object::Object;
use serde::Deserialize;
use serde_json::{Value, json};

use super::registry::Entry;
use crate::broker::Broker;

/// The Go broker's finalizer is not needed and would keep the AcceptAPI from going: the patch that takes it away, if it is
/// there.
pub(super) fn finalizer_patch(held: &Object) -> Option<Value> {
    if !held.has_finalizers {
        return None;
    }
    let value = held.value().ok()?;
    let all: Vec<&str> =
        value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !all.contains(&keys::ACCEPTAPI_FINALIZER) {
        return None;
    }
    let kept: Vec<&str> = all.into_iter().filter(|finalizer| *finalizer != keys::ACCEPTAPI_FINALIZER).collect();
    Some(held.version().guard(json!({"metadata": {"finalizers": kept}})))
}

/// What is to be written of a status.
pub(super) struct Said {
    pub(super) report: Report,
    /// Whether it is said only once: a broker that does not watch the kind knows less than one that does, and what that one
    /// says stands.
    pub(super) yields: bool,
}

/// What of an AcceptAPI its status depends on: it is looked at often, and its spec is long.
#[derive(Deserialize)]
struct Told {
    metadata: Metadata,
    status: Option<Value>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    generation: i64,
}

/// What brings an AcceptAPI's status up to date, if it is not.
pub(super) fn said(broker: &Broker, id: &AcceptId, entry: &Entry, held: &Object) -> Option<Said> {
    let Told { metadata: Metadata { generation }, status } = held.read().ok()?;
    let (ready, reason, message) = broker.verdict(id, entry);
    let (status, now) = (status.unwrap_or_else(|| json!({})), clock::now().text);
    let said = Condition { kind: condition::READY, status: ready, reason, message: &message };
    let mut conditions = vec![said.entry(&status, generation, &now)];
    let brokered = entry.gvr.as_ref().and_then(|gvr| broker.brokered_at(&id.provider, gvr));
    if let Some(held) = brokered.and_then(|brokered| broker.brake.told(&id.provider, &brokered.kind)) {
        let kind = condition::DELETIONS_HELD;
        let said = Condition { kind, status: true, reason: condition::ORIGINS_VANISHED, message: &held };
        conditions.push(said.entry(&status, generation, &now));
    }
    let placed = broker.placed(id, entry.gvr.as_ref());
    let desired = json!({"conditions": conditions, "placed": placed, "observedGeneration": generation});
    let report = report::report(held.version(), Some(&status), &desired, &[report::CONDITIONS])?;
    let yields = entry.gvr.as_ref().is_some_and(|gvr| !broker.watches_resource(gvr));
    Some(Said { report, yields })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker_api::ClusterName;

    use super::*;
    use crate::conventions;

    /// An AcceptAPI of this resource, with this status; and what is to be written there.
    fn patch_of(uid: &str, resource: &str, status: &Value) -> Option<Said> {
        let (broker, _channels) = Broker::of_one_kind();
        broker.clusters.plurals.set(&ClusterName::provider("other"), &broker.watches.brokered[0].kind, "ks");
        let (key, held) = conventions::object(&json!({
            "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI", "status": status,
            "metadata": {"name": "a", "namespace": "n", "uid": uid, "resourceVersion": "1", "generation": 1},
            "spec": {"gvr": {"group": "g", "version": "v1", "resource": resource}},
        }));
        let id = AcceptId { provider: ClusterName::provider("p"), namespace: key.namespace, name: key.name };
        let entry = Entry::read(&held, None).compiled(&id, &held, &broker.evaluator, &Arc::default());
        said(&broker, &id, &entry, &held)
    }

    #[tokio::test]
    async fn what_is_said_is_the_same_whenever_it_is_said_and_who_does_not_watch_a_kind_yields() {
        let patch = |resource, status: &Value| patch_of("u", resource, status);
        let theirs = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "in use",
            "lastTransitionTime": "2020-01-01T00:00:00Z", "observedGeneration": 1}], "placed": 7});
        let (first, again) = (patch("others", &json!({})).unwrap(), patch("others", &theirs).unwrap());
        assert_eq!((first.yields, again.yields, first.report.intent), (true, true, again.report.intent));
        let missing = patch("ks", &json!({})).unwrap();
        assert!(
            !missing.yields && missing.report.intent != first.report.intent,
            "of what it watches it knows as much as anybody"
        );
        let anew = patch_of("made anew", "others", &json!({})).unwrap();
        assert!(
            anew.yields && anew.report.intent != first.report.intent,
            "another object, of which nothing has been said"
        );
        let mut said = first.report.patch["status"].clone();
        assert!(patch("others", &said).is_none());
        said["placed"] = json!(7);
        assert_eq!(patch("others", &said).unwrap().report.intent, first.report.intent);
    }

    fn finalized(finalizers: &Value) -> Option<Value> {
        let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "5", "finalizers": finalizers});
        let object = conventions::object(&json!({"metadata": metadata})).1;
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
