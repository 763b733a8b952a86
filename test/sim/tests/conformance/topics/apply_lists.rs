//! Lists that are merged.

use serde_json::{Value, json};

use crate::sequence::{Sequence, WIDGETS, at, sequence, widget};

fn a(spec: Value) -> Value {
    widget(json!({"name": "a"}), spec)
}

fn owned(owners: &[&str]) -> Value {
    let owner = |name: &&str| {
        let uid = format!("{name}1111111-2222-4333-8444-555555555555");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
    };
    widget(json!({"name": "a", "ownerReferences": owners.iter().map(owner).collect::<Vec<_>>()}), json!({}))
}

fn finalized(finalizers: &[&str]) -> Value {
    widget(json!({"name": "a", "finalizers": finalizers}), json!({}))
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(WIDGETS, "a");
    vec![
        sequence("sets")
            .apply(&path, "one", a(json!({"tags": ["b", "a"]})))
            .apply(&path, "two", a(json!({"tags": ["c", "a"]})))
            .apply(&path, "one", a(json!({"tags": ["d"]})))
            .apply(&path, "two", a(json!({"tags": ["a", "e", "d"]})))
            .apply(&path, "one", a(json!({"tags": []})))
            .apply(&path, "two", a(json!({})))
            .apply(&path, "one", a(json!({}))),
        sequence("a set of which nothing is left")
            .apply(&path, "one", a(json!({"tags": ["a"]})))
            .apply(&path, "one", a(json!({"tags": []})))
            .get(path.clone()),
        sequence("a map of which nothing is left")
            .apply(&path, "one", a(json!({"labels": {"a": "1"}})))
            .apply(&path, "one", a(json!({"labels": {}})))
            .get(path.clone()),
        sequence("lists that are applied no more")
            .apply(&path, "one", a(json!({"tags": ["a"], "ports": [{"port": 80, "label": "http"}]})))
            .apply(&path, "one", a(json!({"ports": [{"port": 80, "label": "http"}]})))
            .apply(&path, "one", a(json!({})))
            .get(path.clone()),
        sequence("maps by key")
            .apply(&path, "one", a(json!({"ports": [{"port": 80, "label": "http"}, {"port": 53, "protocol": "UDP"}]})))
            .apply(&path, "two", a(json!({"ports": [{"port": 443}, {"port": 80, "protocol": "TCP"}]})))
            .apply(&path, "one", a(json!({"ports": [{"port": 53, "protocol": "UDP", "label": "dns"}]})))
            .apply(&path, "two", a(json!({"ports": [{"port": 53, "protocol": "UDP", "label": "x"}]})))
            .apply(&path, "one", a(json!({})))
            .merge(&path, json!({"spec": {"ports": [{"port": 1}]}}))
            .apply(&path, "two", a(json!({"ports": [{"port": 1, "label": "z"}, {"port": 2}]}))),
        sequence("keys that are missing or there twice")
            .apply(&path, "one", a(json!({"ports": [{"label": "x"}]})))
            .apply(&path, "one", a(json!({"ports": [{"port": 1}, {"port": 1}]})))
            .apply(&path, "one", a(json!({"tags": ["a", "a"]})))
            .post(WIDGETS, a(json!({"ports": [{"port": 1}, {"port": 1}]})))
            .post(WIDGETS, a(json!({"tags": ["a", "a"]}))),
        sequence("the order of sets")
            .apply(&path, "one", a(json!({"tags": ["a", "b", "c", "d"]})))
            .apply(&path, "two", a(json!({"tags": ["d", "x", "b"]})))
            .apply(&path, "one", a(json!({"tags": ["c", "a"]})))
            .apply(&path, "three", a(json!({"tags": ["y", "a", "z"]}))),
        sequence("finalizers are a set")
            .apply(&path, "one", finalized(&["example.org/a", "example.org/b"]))
            .apply(&path, "two", finalized(&["example.org/c", "example.org/a"]))
            .apply(&path, "one", finalized(&[]))
            .apply(&path, "two", a(json!({})))
            .delete(&path),
        sequence("the last finalizer goes by an apply")
            .apply(&path, "one", finalized(&["example.org/a"]))
            .delete(&path)
            .apply(&path, "one", a(json!({})))
            .get(path.clone()),
        sequence("owners are told apart by uid")
            .apply(&path, "one", owned(&["a", "b"]))
            .apply(&path, "two", owned(&["c", "b"]))
            .apply(&path, "one", owned(&["a"]))
            .apply(&path, "one", a(json!({})))
            .merge(&path, json!({"metadata": {"ownerReferences": null}}))
            .apply(&path, "two", owned(&["c"])),
    ]
}
