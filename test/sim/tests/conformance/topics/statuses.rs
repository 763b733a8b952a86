//! The status as a subresource.

use serde_json::json;

use crate::sequence::{APPLY, Sequence, WIDGETS, at, object, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let one = || sequence("").post(WIDGETS, widget(json!({"name": "a", "labels": {"l": "1"}}), json!({"size": 1})));
    let named = |name: &str| Sequence { name: name.to_owned(), ..one() };
    let path = at(WIDGETS, "a");
    let status = format!("{path}/status");
    let version = |of: &str| format!("${{{of}#/metadata/resourceVersion}}");
    vec![
        named("a status is patched alone")
            .merge(
                &status,
                json!({"status": {"phase": "Ready"}, "spec": {"size": 5}, "metadata": {"labels": {"m": "2"}}}),
            )
            .get(path.clone())
            .get(status.clone())
            .merge(&path, json!({"status": {"phase": "Other"}}))
            .merge(&status, json!({"status": null})),
        named("a status patch names a version")
            .merge(&status, json!({"metadata": {"resourceVersion": version("0")}, "status": {"count": 1}}))
            .merge(&status, json!({"metadata": {"resourceVersion": version("0")}, "status": {"count": 2}})),
        named("a status patch names a uid")
            .merge(&status, json!({"metadata": {"uid": "${0#/metadata/uid}"}, "status": {"count": 1}}))
            .merge(
                &status,
                json!({"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}, "status": {"count": 2}}),
            ),
        named("a status is replaced")
            .put(
                &status,
                object(
                    "sim.example.org/v1",
                    "Widget",
                    &json!({"name": "a", "resourceVersion": version("0")}),
                    json!({"spec": {"size": 9}, "status": {"phase": "P", "unknown": 1}}),
                ),
            )
            .put(
                &status,
                object(
                    "sim.example.org/v1",
                    "Widget",
                    &json!({"name": "a", "resourceVersion": version("1")}),
                    json!({}),
                ),
            ),
        named("a status is checked")
            .merge(&status, json!({"status": {"count": "x"}}))
            .merge(&status, json!({"status": {"conditions": [{"type": "A"}, {"type": "A"}]}}))
            .merge(&status, json!({"status": {"conditions": [{"status": "True"}]}})),
        named("a status that is the same is not written")
            .merge(&status, json!({"status": {"phase": "Ready"}}))
            .merge(&status, json!({"status": {"phase": "Ready"}})),
        named("a status is applied")
            .apply(
                &status,
                "one",
                object(
                    "sim.example.org/v1",
                    "Widget",
                    &json!({"name": "a"}),
                    json!({"status": {"phase": "A", "conditions": [{"type": "X", "status": "True"}]}}),
                ),
            )
            .apply(
                &status,
                "two",
                object(
                    "sim.example.org/v1",
                    "Widget",
                    &json!({"name": "a"}),
                    json!({"status": {"conditions": [{"type": "Y", "status": "False"}]}}),
                ),
            )
            .apply(
                &status,
                "two",
                object("sim.example.org/v1", "Widget", &json!({"name": "a"}), json!({"status": {"phase": "B"}})),
            )
            .apply(&path, "one", widget(json!({"name": "a"}), json!({"name": "x"})))
            .apply(
                &status,
                "one",
                object("sim.example.org/v1", "Widget", &json!({"name": "a"}), json!({"status": {}})),
            ),
        sequence("a status of nothing")
            .patch(
                &format!("{status}?fieldManager=m"),
                APPLY,
                object("sim.example.org/v1", "Widget", &json!({"name": "a"}), json!({"status": {}})),
            )
            .get(status.clone())
            .delete(&status),
    ]
}
