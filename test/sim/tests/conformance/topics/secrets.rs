//! Secrets.

use serde_json::json;

use crate::sequence::{PARTIAL, SECRETS, Sequence, at, secret, sequence};

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(SECRETS, "a");
    vec![
        sequence("texts become data")
            .post(
                SECRETS,
                secret(
                    json!({"name": "a"}),
                    json!({"stringData": {"k": "value", "l": "x"}, "data": {"l": "eQ==", "m": "eg=="}}),
                ),
            )
            .get(path.clone())
            .get_as(path.clone(), PARTIAL)
            .merge(&path, json!({"stringData": {"k": "other"}}))
            .put(&path, secret(json!({"name": "a"}), json!({"stringData": {"n": "1"}}))),
        sequence("data are base64")
            .post(SECRETS, secret(json!({"name": "a"}), json!({"data": {"k": "not base64!"}})))
            .post(SECRETS, secret(json!({"name": "a"}), json!({"data": {"k": ""}}))),
        sequence("the type stays")
            .post(SECRETS, secret(json!({"name": "a"}), json!({"type": "example.org/t"})))
            .merge(&path, json!({"type": "example.org/u"}))
            .merge(&path, json!({"type": null})),
        sequence("an immutable Secret stays")
            .post(SECRETS, secret(json!({"name": "a"}), json!({"data": {"k": "eA=="}, "immutable": true})))
            .merge(&path, json!({"data": {"k": "eQ=="}}))
            .merge(&path, json!({"stringData": {"k": "x"}}))
            .merge(&path, json!({"immutable": null}))
            .merge(&path, json!({"metadata": {"annotations": {"l": "1"}}}))
            .delete(&path),
        sequence("keys are checked").post(SECRETS, secret(json!({"name": "a"}), json!({"data": {"a b": "eA=="}}))),
    ]
}
