//! Server-side apply.

use serde_json::{Value, json};

use crate::sequence::{
    GADGETS, MAPS, PLANETS, SECRETS, Sequence, WIDGETS, at, gadget, map, object, secret, sequence, widget,
};

fn a(spec: Value) -> Value {
    widget(json!({"name": "a"}), spec)
}

fn m(data: Value) -> Value {
    map(json!({"name": "a"}), data)
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(WIDGETS, "a");
    let maps = at(MAPS, "a");
    let labelled = |labels: Value| map(json!({"name": "a", "labels": labels}), json!({"k": "1"}));
    vec![
        sequence("apply creates, and applies again")
            .apply(&path, "one", a(json!({"size": 1, "labels": {"x": "1"}})))
            .apply(&path, "one", a(json!({"size": 1, "labels": {"x": "1"}})))
            .apply(&path, "one", a(json!({"size": 2})))
            .apply(&maps, "one", m(json!({"k": "1", "l": "2"})))
            .apply(&maps, "one", m(json!({"k": "1", "l": "2"})))
            .apply(&maps, "one", m(json!({"l": "3"}))),
        sequence("apply needs a manager")
            .patch(&path, "application/apply-patch+yaml", a(json!({})))
            .patch(&format!("{path}?force=true"), "application/apply-patch+yaml", a(json!({}))),
        sequence("two managers")
            .apply(&path, "one", a(json!({"size": 1, "name": "x"})))
            .apply(&path, "two", a(json!({"size": 2})))
            .apply(&path, "two", a(json!({"size": 1})))
            .force(&path, "two", a(json!({"size": 3, "name": "y"})))
            .apply(&path, "one", a(json!({"size": 1, "name": "x"})))
            .apply(&path, "one", a(json!({})))
            .apply(&path, "two", a(json!({}))),
        sequence("a conflict tells every field")
            .apply(&path, "one", a(json!({"size": 1, "name": "x", "labels": {"a": "1"}, "tags": ["t"], "ports": [{"port": 80, "label": "h"}]})))
            .apply(&path, "two", a(json!({"size": 2, "name": "y", "labels": {"a": "2", "b": "1"}, "tags": ["u"], "ports": [{"port": 80, "label": "i"}]})))
            .apply(&maps, "one", m(json!({"k": "1"})))
            .merge(&maps, json!({"data": {"k": "2", "z": "1"}}))
            .apply(&maps, "one", m(json!({"k": "3"})))
            .force(&maps, "one", m(json!({"k": "3"}))),
        sequence("what was updated by others is theirs")
            .apply(&path, "one", a(json!({"size": 1, "name": "x"})))
            .merge(&path, json!({"spec": {"size": 2, "note": "n"}}))
            .apply(&path, "one", a(json!({"name": "x"})))
            .merge(&path, json!({"spec": {"size": null}}))
            .force(&path, "one", a(json!({"name": "x", "note": "o"}))),
        sequence("a precondition of absence")
            .apply(&path, "one", widget(json!({"name": "a", "resourceVersion": "1"}), json!({"size": 1})))
            .apply(&path, "one", widget(json!({"name": "a", "resourceVersion": "1"}), json!({"size": 1})))
            .apply(&path, "two", widget(json!({"name": "a", "resourceVersion": "1"}), json!({"size": 2})))
            .apply(&maps, "one", map(json!({"name": "a", "resourceVersion": "1"}), json!({})))
            .apply(&maps, "one", map(json!({"name": "a", "resourceVersion": "1"}), json!({}))),
        sequence("a precondition of identity")
            .apply(&path, "one", widget(json!({"name": "a", "uid": "11111111-2222-4333-8444-555555555555"}), json!({})))
            .apply(&path, "one", a(json!({"size": 1})))
            .force(&path, "one", widget(json!({"name": "a", "uid": "11111111-2222-4333-8444-555555555555"}), json!({"size": 2})))
            .force(&path, "one", widget(json!({"name": "a", "uid": "${1#/metadata/uid}"}), json!({"size": 2})))
            .force(&path, "one", widget(json!({"name": "a", "resourceVersion": "${1#/metadata/resourceVersion}"}), json!({"size": 3})))
            .force(&path, "one", widget(json!({"name": "a", "resourceVersion": "${3#/metadata/resourceVersion}"}), json!({"size": 3}))),
        sequence("what does not fit the schema is refused")
            .apply(&path, "one", a(json!({"unknown": 1})))
            .apply(&path, "one", a(json!({"size": "x"})))
            .apply(&path, "one", a(json!({"size": 1000})))
            .apply(&path, "one", a(json!({"tags": "x"})))
            .apply(&path, "one", a(json!({"labels": {"x": 1}})))
            .apply(&maps, "one", m(json!({"x": 1})))
            .apply(&maps, "one", object("v1", "ConfigMap", &json!({"name": "a"}), json!({"unknown": 1})))
            .apply(&path, "one", widget(json!({"name": "a", "unknown": 1}), json!({})))
            .get(path.clone()),
        sequence("labels are applied one by one")
            .apply(&maps, "one", labelled(json!({"a": "1", "b": "2"})))
            .apply(&maps, "two", labelled(json!({"c": "3"})))
            .apply(&maps, "one", labelled(json!({"a": "1"})))
            .apply(&maps, "one", m(json!({"k": "1"})))
            .apply(&maps, "two", m(json!({"k": "1"})))
            .merge(&maps, json!({"metadata": {"labels": {"z": "1"}}}))
            .apply(&maps, "one", labelled(json!({"z": "2"}))),
        sequence("empty maps")
            .apply(&path, "one", widget(json!({"name": "a", "annotations": {}}), json!({"labels": {}, "nested": {}, "things": {"x": {}}})))
            .apply(&path, "one", a(json!({"labels": {"a": "1"}, "things": {"x": {"a": 1}}})))
            .apply(&path, "one", a(json!({"things": {"x": {}}})))
            .apply(&path, "two", a(json!({"things": {}}))),
        sequence("a map of which nothing is left")
            .apply(&path, "one", a(json!({"labels": {"a": "1"}, "size": 1})))
            .apply(&path, "one", a(json!({"labels": {}, "size": 1})))
            .get(path.clone()),
        sequence("a free map of which nothing is left")
            .apply(&path, "one", a(json!({"free": {"a": "1"}, "size": 1})))
            .apply(&path, "one", a(json!({"free": {"b": {"c": [1, 2]}}, "size": 1})))
            .apply(&path, "one", a(json!({"free": {}, "size": 1})))
            .apply(&path, "one", a(json!({"size": 1})))
            .get(path.clone()),
        sequence("anything of which nothing is left")
            .apply(&path, "one", a(json!({"any": {"a": "1"}, "size": 1})))
            .apply(&path, "one", a(json!({"any": {}, "size": 1})))
            .get(path.clone()),
        sequence("lists and structs that are one value")
            .apply(&path, "one", a(json!({"items": [{"x": 1}], "settings": {"mode": "m", "level": 1}})))
            .apply(&path, "two", a(json!({"settings": {"mode": "m"}})))
            .apply(&path, "two", a(json!({"items": [{"x": 1}, {"x": 2}]})))
            .apply(&path, "one", a(json!({"settings": {"level": 2}})))
            .merge(&path, json!({"spec": {"settings": {"mode": "z"}}})),
        sequence("defaults are nobody's")
            .apply(&path, "one", a(json!({"nested": {"deep": {"value": "v"}}})))
            .apply(&path, "two", a(json!({"color": "red"})))
            .apply(&path, "two", a(json!({"color": "blue"})))
            .apply(&path, "two", a(json!({})))
            .apply(&path, "one", a(json!({}))),
        sequence("a namespace that is missing")
            .apply("/api/v1/namespaces/missing-{ns}/configmaps/a", "one", m(json!({})))
            .apply("/apis/sim.example.org/v1/namespaces/missing-{ns}/widgets/a", "one", a(json!({}))),
        sequence("name, kind and managers of what is applied")
            .apply(&path, "one", widget(json!({"name": "b"}), json!({})))
            .apply(&path, "one", widget(json!({"name": "a", "namespace": "other"}), json!({})))
            .apply(&path, "one", gadget(json!({"name": "a"}), json!({})))
            .apply(&path, "one", json!({"metadata": {"name": "a"}}))
            .apply(&path, "one", widget(json!({"name": "a", "managedFields": [{"manager": "x"}]}), json!({}))),
        sequence("what is required is required of the result")
            .apply(&at(GADGETS, "a"), "one", gadget(json!({"name": "a"}), json!({"spec": {"mode": "x"}})))
            .apply(&at(GADGETS, "a"), "one", gadget(json!({"name": "a"}), json!({"spec": {"size": 1}})))
            .apply(&at(GADGETS, "a"), "two", gadget(json!({"name": "a"}), json!({"spec": {"mode": "x"}})))
            .apply(&at(GADGETS, "a"), "one", gadget(json!({"name": "a"}), json!({})))
            .apply(&at(GADGETS, "a"), "one", gadget(json!({"name": "a"}), json!({"spec": {"mode": "x"}}))),
        sequence("a kind of which nothing is known")
            .apply(&at(PLANETS, "q-{ns}"), "one", object("sim.example.org/v1", "Planet", &json!({"name": "q-{ns}"}), json!({"a": {"b": [1]}, "c": "x"})))
            .apply(&at(PLANETS, "q-{ns}"), "two", object("sim.example.org/v1", "Planet", &json!({"name": "q-{ns}"}), json!({"a": {"d": 1}})))
            .apply(&at(PLANETS, "q-{ns}"), "one", object("sim.example.org/v1", "Planet", &json!({"name": "q-{ns}"}), json!({"a": {"b": [2]}})))
            .delete(&at(PLANETS, "q-{ns}")),
        sequence("a Secret is applied as text")
            .apply(&at(SECRETS, "a"), "one", secret(json!({"name": "a"}), json!({"stringData": {"k": "v"}, "type": "Opaque"})))
            .apply(&at(SECRETS, "a"), "one", secret(json!({"name": "a"}), json!({"stringData": {"k": "v"}, "type": "Opaque"})))
            .apply(&at(SECRETS, "a"), "one", secret(json!({"name": "a"}), json!({"data": {"l": "dg=="}}))),
        sequence("status is not applied with the whole")
            .apply(&path, "one", object("sim.example.org/v1", "Widget", &json!({"name": "a"}), json!({"spec": {"size": 1}, "status": {"phase": "x"}})))
            .apply(&path, "one", object("sim.example.org/v1", "Widget", &json!({"name": "a"}), json!({"spec": {"size": 2}, "status": {"phase": "y"}}))),
        sequence("a manager that updates and one that applies are two")
            .merge(&path, json!({}))
            .apply(&path, "patcher", a(json!({"size": 1})))
            .merge(&path, json!({"spec": {"size": 2}}))
            .apply(&path, "patcher", a(json!({"size": 3})))
            .force(&path, "patcher", a(json!({"size": 3}))),
    ]
}
