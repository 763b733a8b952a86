//! Namespaces that come and go.

use serde_json::json;

use crate::sequence::{MAPS, NAMESPACES, Sequence, WIDGETS, at, map, object, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let namespace = |metadata| object("v1", "Namespace", &metadata, json!({}));
    let own = "/api/v1/namespaces/{ns}".to_owned();
    vec![
        sequence("a namespace is created")
            .post(NAMESPACES, namespace(json!({"name": "made-{ns}", "labels": {"a": "b"}})))
            .post(NAMESPACES, namespace(json!({"name": "made-{ns}"})))
            .get("/api/v1/namespaces/made-{ns}")
            .merge(
                "/api/v1/namespaces/made-{ns}",
                json!({"metadata": {"labels": {"c": "d", "kubernetes.io/metadata.name": null}}}),
            )
            .apply(
                "/api/v1/namespaces/made-{ns}",
                "one",
                namespace(json!({"name": "made-{ns}", "labels": {"e": "f"}})),
            ),
        sequence("a namespace is applied")
            .apply(
                "/api/v1/namespaces/applied-{ns}",
                "one",
                namespace(json!({"name": "applied-{ns}", "labels": {"e": "f"}})),
            )
            .apply("/api/v1/namespaces/applied-{ns}", "one", namespace(json!({"name": "applied-{ns}"}))),
        sequence("names of namespaces are checked").post(NAMESPACES, namespace(json!({"name": "a.b"}))),
        sequence("a namespace that is being deleted takes nothing in")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .post(WIDGETS, widget(json!({"name": "a"}), json!({})))
            .delete_with(&own, json!({"preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}}))
            .delete(&own)
            .get(own.clone())
            .post(MAPS, map(json!({"name": "b"}), json!({})))
            .apply(&at(MAPS, "b"), "one", map(json!({"name": "b"}), json!({})))
            .post(WIDGETS, widget(json!({"name": "b"}), json!({"size": "x"})))
            .merge(&at(MAPS, "a"), json!({"data": {"k": "2"}}))
            .apply(&at(WIDGETS, "a"), "one", widget(json!({"name": "a"}), json!({"size": 2})))
            .delete(&at(MAPS, "a"))
            .delete(&own),
        sequence("some namespaces stay").delete("/api/v1/namespaces/default").delete("/api/v1/namespaces/kube-system"),
    ]
}
