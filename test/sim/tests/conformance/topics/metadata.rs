//! What metadata may be.

use serde_json::{Value, json};

use crate::sequence::{MAPS, Sequence, WIDGETS, at, map, sequence, widget};

fn owner(fields: &Value) -> Value {
    let mut owner =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-2222-4333-8444-555555555555"});
    for (name, value) in fields.as_object().unwrap() {
        owner[name] = value.clone();
    }
    owner
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let both = |name: &str, metadata: Value| {
        sequence(name).post(MAPS, map(metadata.clone(), json!({}))).post(WIDGETS, widget(metadata, json!({})))
    };
    vec![
        both("labels are checked", json!({"name": "a", "labels": {"bad key": "x", "good": "bad value", "ok": "fine"}})),
        both("empty labels and annotations", json!({"name": "a", "labels": {}, "annotations": {"a": ""}})),
        both("annotations are checked", json!({"name": "a", "annotations": {"bad key": "any thing", "Fine/Key": "x"}})),
        both("finalizers are checked", json!({"name": "a", "finalizers": ["bad name", "plain", "example.org/ok"]})),
        both("owners are checked", json!({"name": "a", "ownerReferences": [owner(&json!({"uid": ""})), owner(&json!({"kind": "", "apiVersion": ""}))]})),
        both("one controller at most", json!({"name": "a", "ownerReferences": [
            owner(&json!({"controller": true})), owner(&json!({"controller": true, "uid": "21111111-2222-4333-8444-555555555555"}))]})),
        both("metadata of another type", json!({"name": "a", "labels": {"a": 1}})),
        both("metadata of another shape", json!({"name": "a", "labels": "x"})),
        both("unknown metadata is left out", json!({"name": "a", "unknown": 1, "labels": null})),
        sequence("uid, name and namespace stay")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({})))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}}))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"name": "b"}}))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"namespace": "b"}}))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9, "deletionTimestamp": "2001-01-01T00:00:00Z"}})),
    ]
}
