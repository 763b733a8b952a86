//! Merge patches.

use serde_json::json;

use crate::sequence::{GADGETS, MAPS, MERGE, Sequence, WIDGETS, at, gadget, map, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let one = || {
        sequence("")
            .post(WIDGETS, widget(json!({"name": "a", "labels": {"l": "1"}}), json!({"size": 1, "tags": ["x"]})))
    };
    let named = |name: &str| Sequence { name: name.to_owned(), ..one() };
    let path = at(WIDGETS, "a");
    let version = |of: &str| format!("${{{of}#/metadata/resourceVersion}}");
    vec![
        named("a merge patch changes what it names")
            .merge(&path, json!({"spec": {"size": 2, "tags": null, "name": "n"}, "metadata": {"labels": {"m": "2"}}}))
            .merge(&path, json!({"metadata": {"labels": null}}))
            .merge(&path, json!({"metadata": {"labels": {"l": null, "z": "1"}}})),
        named("a merge patch may name a version")
            .merge(&path, json!({"metadata": {"resourceVersion": version("0")}, "spec": {"size": 2}}))
            .merge(&path, json!({"metadata": {"resourceVersion": version("0")}, "spec": {"size": 3}}))
            .merge(&path, json!({"metadata": {"resourceVersion": null}, "spec": {"size": 4}})),
        named("a merge patch may name a uid")
            .merge(&path, json!({"metadata": {"uid": "${0#/metadata/uid}"}, "spec": {"size": 2}}))
            .merge(&path, json!({"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}, "spec": {"size": 3}}))
            .merge(&path, json!({"metadata": {"uid": "11111111-2222-4333-8444-555555555555", "resourceVersion": version("0")}, "spec": {"size": 3}})),
        named("a merge patch that changes nothing is none")
            .merge(&path, json!({"spec": {"size": 1}}))
            .merge(&path, json!({})),
        named("what a merge patch makes must be an object of its kind")
            .merge(&path, json!({"spec": {"size": "x"}}))
            .merge(&path, json!({"spec": null}))
            .merge(&path, json!({"spec": []}))
            .merge(&path, json!({"metadata": {"labels": {"a": 5}}}))
            .merge(&path, json!({"kind": "Other"})),
        sequence("a ConfigMap is typed")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .merge(&at(MAPS, "a"), json!({"data": {"k": 5}}))
            .merge(&at(MAPS, "a"), json!({"data": {"k": null}}))
            .merge(&at(MAPS, "a"), json!({"unknown": 1, "data": {"z": "2"}}))
            .merge(&at(MAPS, "a"), json!({"data": null})),
        sequence("what is missing is not patched")
            .merge(&path, json!({"spec": {}}))
            .merge(&format!("{path}/status"), json!({"status": {}}))
            .merge(&at(MAPS, "a"), json!({})),
        named("unknown fields are not kept")
            .merge(&path, json!({"spec": {"unknown": 1}, "other": {}}))
            .merge(&path, json!({"spec": {"free": {"unknown": {"x": [1, null]}}, "any": [1]}})),
        named("patches that are none")
            .patch(&path, MERGE, json!([1]))
            .patch(&path, "application/strategic-merge-patch+json", json!({}))
            .patch(&format!("{path}?force=true"), MERGE, json!({})),
        sequence("what is required stays")
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {"size": 1}})))
            .merge(&at(GADGETS, "a"), json!({"spec": {"size": null}}))
            .merge(&at(GADGETS, "a"), json!({"spec": null}))
            .merge(&at(GADGETS, "a"), json!({"spec": {"inner": {}}})),
        named("finalizers come and go")
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/a", "example.org/b"]}}))
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/b"]}}))
            .merge(&path, json!({"metadata": {"finalizers": []}})),
    ]
}
