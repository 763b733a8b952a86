//! ConfigMaps.

use serde_json::json;

use crate::sequence::{MAPS, Sequence, at, map, object, sequence};

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(MAPS, "a");
    vec![
        sequence("an immutable ConfigMap stays")
            .post(
                MAPS,
                object("v1", "ConfigMap", &json!({"name": "a"}), json!({"data": {"k": "1"}, "immutable": true})),
            )
            .merge(&path, json!({"data": {"k": "2"}}))
            .merge(&path, json!({"immutable": false}))
            .merge(&path, json!({"immutable": null, "binaryData": {"b": "AA=="}}))
            .merge(&path, json!({"metadata": {"labels": {"l": "1"}}})),
        sequence("a ConfigMap becomes immutable")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": "1"})))
            .merge(&path, json!({"immutable": true, "data": {"k": "2"}}))
            .merge(&path, json!({"data": {"k": "3"}})),
        sequence("keys are checked")
            .post(MAPS, map(json!({"name": "a"}), json!({"bad key": "1", "..": "2", "ok.key_-": "3"}))),
        sequence("binary data is base64")
            .post(MAPS, object("v1", "ConfigMap", &json!({"name": "a"}), json!({"binaryData": {"b": "AAEC"}})))
            .post(MAPS, object("v1", "ConfigMap", &json!({"name": "b"}), json!({"binaryData": {"b": "%%"}}))),
        sequence("values are texts")
            .post(MAPS, map(json!({"name": "a"}), json!({"k": 1})))
            .post(MAPS, map(json!({"name": "a"}), json!({"k": null, "e": ""})))
            .post(MAPS, map(json!({"name": "b"}), json!([]))),
    ]
}
