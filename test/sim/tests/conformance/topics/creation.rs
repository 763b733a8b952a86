//! What is created, and what is not.

use serde_json::json;

use crate::sequence::{
    GADGETS, JSON, MAPS, NAMESPACES, PARTIAL, PLANETS, Sequence, WIDGETS, at, gadget, map, object, sequence, widget,
};

pub(crate) fn sequences() -> Vec<Sequence> {
    vec![
        sequence("a created object is there")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "v"})))
            .get(at(MAPS, "a"))
            .get_as(at(MAPS, "a"), PARTIAL),
        sequence("what exists is not created again")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "v"})))
            .post(WIDGETS, widget(json!({"name": "a"}), json!({})))
            .post(WIDGETS, widget(json!({"name": "a"}), json!({}))),
        sequence("a name may be generated")
            .post(MAPS, map(json!({"generateName": "generated-"}), json!({})))
            .post(WIDGETS, widget(json!({"generateName": "generated-"}), json!({"size": 1}))),
        sequence("an object without a name is refused")
            .post(MAPS, map(json!({}), json!({})))
            .post(WIDGETS, widget(json!({}), json!({}))),
        sequence("names are checked")
            .post(MAPS, map(json!({"name": "A_b"}), json!({})))
            .post(WIDGETS, widget(json!({"name": "x/y"}), json!({})))
            .post(WIDGETS, widget(json!({"name": "-a"}), json!({}))),
        sequence("the namespace is that of the path")
            .post(MAPS, map(json!({"name": "a", "namespace": "other"}), json!({})))
            .post(MAPS, map(json!({"name": "a", "namespace": "{ns}"}), json!({})))
            .post(WIDGETS, widget(json!({"name": "a", "namespace": "other"}), json!({}))),
        sequence("in a namespace that is missing nothing is created")
            .post("/api/v1/namespaces/missing-{ns}/configmaps", map(json!({"name": "a"}), json!({})))
            .post("/apis/sim.example.org/v1/namespaces/missing-{ns}/widgets", widget(json!({"name": "a"}), json!({})))
            .post("/apis/sim.example.org/v1/namespaces/missing-{ns}/widgets", widget(json!({"name": "a"}), json!({"size": "x"}))),
        sequence("kind and version are those of the path")
            .post(MAPS, object("v1", "Secret", &json!({"name": "a"}), json!({})))
            .post(MAPS, object("v2", "ConfigMap", &json!({"name": "a"}), json!({})))
            .post(WIDGETS, object("sim.example.org/v1", "Gadget", &json!({"name": "a"}), json!({})))
            .post(WIDGETS, json!({"metadata": {"name": "a"}, "spec": {}}))
            .post(MAPS, json!({"metadata": {"name": "a"}, "data": {"k": "v"}})),
        sequence("a new object has no status, and is of generation 1")
            .post(WIDGETS, object("sim.example.org/v1", "Widget", &json!({"name": "a", "generation": 7}),
                json!({"spec": {"size": 1}, "status": {"phase": "Ready"}})))
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {"size": 1}, "status": {"phase": "Ready"}}))),
        sequence("what is the API server's to say is not taken from whoever creates")
            .post(WIDGETS, widget(json!({"name": "a", "uid": "11111111-2222-4333-8444-555555555555", "generation": 9,
                "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}), json!({})))
            .post(MAPS, map(json!({"name": "b", "resourceVersion": "1"}), json!({}))),
        sequence("a body that is none is refused")
            .post(MAPS, json!([1]))
            .post(MAPS, json!("text"))
            .post(WIDGETS, json!([])),
        sequence("in no namespace")
            .post(PLANETS, object("sim.example.org/v1", "Planet", &json!({"name": "p-{ns}"}), json!({"anything": {"goes": [1]}})))
            .get(at(PLANETS, "p-{ns}"))
            .delete(&at(PLANETS, "p-{ns}"))
            .get(at(PLANETS, "p-{ns}")),
        sequence("a path that leads nowhere")
            .get("/apis/sim.example.org/v1/namespaces/{ns}/nothings")
            .get("/apis/sim.example.org/v7/namespaces/{ns}/widgets")
            .get("/apis/nothing.example.org/v1/namespaces/{ns}/widgets")
            .get(at(WIDGETS, "missing"))
            .get(at(MAPS, "missing"))
            .get(at(NAMESPACES, "missing-{ns}"))
            .get(at(&at(GADGETS, "missing"), "status")),
        sequence("finalizers and owners may come with it")
            .post(WIDGETS, widget(json!({"name": "a", "finalizers": ["example.org/f", "example.org/g"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-2222-4333-8444-555555555555", "controller": true}]}),
                json!({})))
            .get_as(at(WIDGETS, "a"), JSON),
    ]
}
