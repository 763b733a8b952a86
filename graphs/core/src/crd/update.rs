//! The write that makes a CRD of ours what it is to be.

use broker_api::graphs::keys;
use runtime_effect::{merge::diff, view::View, write::Op};
use serde_json::{Map, Value, json};

/// The digest that a CRD of ours was applied with.
pub fn digest_of(crd: &Value) -> Option<&str> {
    crd["metadata"]["annotations"][keys::CRD_DIGEST].as_str()
}

/// The write that makes a CRD what is wanted: server-side apply, so that labels which are no longer wanted go. Where what was
/// applied is there and the CRD is not as it says, the rest belongs to whoever edited it, or to kro which made it: then a
/// patch of what differs.
pub fn update(held: &View, wanted: &Value) -> Op {
    if digest_of(&held.value) == digest_of(wanted) {
        Op::Merge(patch(held, wanted))
    } else {
        Op::Apply { body: wanted.clone(), uid: held.uid.clone() }
    }
}

/// From what is there to what is wanted, marks of others left alone.
fn patch(held: &View, wanted: &Value) -> Value {
    let marks = |part: &str| -> Map<String, Value> {
        let held = &held.value["metadata"][part];
        let wanted = wanted["metadata"][part].as_object();
        let differing = wanted.into_iter().flatten().filter(|(key, value)| held.get(key.as_str()) != Some(value));
        differing.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let mut spec = held.value["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        // API servers write it on some, and its only allowed value is false.
        fields.remove("preserveUnknownFields");
    }
    held.version().guard(json!({
        "metadata": {"labels": marks("labels"), "annotations": marks("annotations")},
        "spec": diff(&spec, &wanted["spec"]).unwrap_or_else(|| json!({})),
    }))
}
