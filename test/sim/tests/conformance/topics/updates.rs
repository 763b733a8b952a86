//! What is replaced.

use serde_json::json;

use crate::sequence::{GADGETS, MAPS, Sequence, WIDGETS, at, gadget, map, object, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let version = |of: &str| format!("${{{of}#/metadata/resourceVersion}}");
    vec![
        sequence("an update replaces all but what is the API server's")
            .post(MAPS, map(json!({"name": "a", "labels": {"l": "1"}}), json!({"k": "v", "m": "n"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a", "annotations": {"x": "y"}}), json!({"k": "w"})))
            .get(at(MAPS, "a")),
        sequence("an update of a custom object names a version")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"size": 1})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a"}), json!({"size": 2})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a", "resourceVersion": version("0")}), json!({"size": 2})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a", "resourceVersion": version("0")}), json!({"size": 3}))),
        sequence("a version that is not the last is a conflict")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a"}), json!({"k": "2"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a", "resourceVersion": version("0")}), json!({"k": "3"}))),
        sequence("another uid is a conflict")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .put(
                &at(MAPS, "a"),
                map(json!({"name": "a", "uid": "11111111-2222-4333-8444-555555555555"}), json!({"k": "2"})),
            )
            .put(&at(MAPS, "a"), map(json!({"name": "a", "uid": "${0#/metadata/uid}"}), json!({"k": "2"}))),
        sequence("what is missing is not updated")
            .put(&at(MAPS, "a"), map(json!({"name": "a"}), json!({})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a"}), json!({})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a", "resourceVersion": "5"}), json!({})))
            .put(&at(MAPS, "a"), map(json!({"name": "a", "uid": "11111111-2222-4333-8444-555555555555"}), json!({}))),
        sequence("an update that changes nothing is none")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"size": 1})))
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a", "resourceVersion": version("0")}), json!({"size": 1})))
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a"}), json!({"k": "1"}))),
        sequence("the name is that of the path")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .put(&at(MAPS, "a"), map(json!({"name": "b"}), json!({})))
            .put(&at(MAPS, "a"), map(json!({}), json!({})))
            .put(&at(MAPS, "a"), map(json!({"name": "a", "namespace": "b"}), json!({}))),
        sequence("an update of the whole leaves the status as it is")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"size": 1})))
            .merge(&format!("{}/status", at(WIDGETS, "a")), json!({"status": {"phase": "Ready"}}))
            .put(
                &at(WIDGETS, "a"),
                object(
                    "sim.example.org/v1",
                    "Widget",
                    &json!({"name": "a", "resourceVersion": version("1")}),
                    json!({"spec": {"size": 1}, "status": {"phase": "Other"}}),
                ),
            )
            .put(&at(WIDGETS, "a"), widget(json!({"name": "a", "resourceVersion": version("2")}), json!({"size": 2}))),
        sequence("where status is no subresource it is a field like others")
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {"size": 1}})))
            .put(
                &at(GADGETS, "a"),
                gadget(
                    json!({"name": "a", "resourceVersion": version("0")}),
                    json!({"spec": {"size": 1}, "status": {"phase": "x"}}),
                ),
            )
            .put(
                &at(GADGETS, "a"),
                gadget(
                    json!({"name": "a", "resourceVersion": version("1"), "labels": {"l": "1"}}),
                    json!({"spec": {"size": 1}, "status": {"phase": "x"}}),
                ),
            ),
        sequence("who holds what may be reset")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a", "managedFields": [{}]}), json!({"k": "1"})))
            .put(&at(MAPS, "a"), map(json!({"name": "a"}), json!({"k": "2"}))),
    ]
}
