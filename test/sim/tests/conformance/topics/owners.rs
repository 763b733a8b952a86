//! What is collected when its owner goes. Here controllers run.

use serde_json::{Value, json};

use crate::sequence::{MAPS, NAMESPACES, SECRETS, Sequence, at, map, object, secret, sequence};

fn owner(of: &str, blocks: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": of, "uid": format!("${{configmaps/{of}#/metadata/uid}}"), "blockOwnerDeletion": blocks})
}

fn family(name: &str) -> Sequence {
    sequence(name)
        .post(MAPS, map(json!({"name": "a"}), json!({})))
        .post(MAPS, map(json!({"name": "b"}), json!({})))
        .post(SECRETS, secret(json!({"name": "of-a", "ownerReferences": [owner("a", true)]}), json!({})))
        .post(
            SECRETS,
            secret(json!({"name": "of-both", "ownerReferences": [owner("a", false), owner("b", false)]}), json!({})),
        )
}

pub(crate) fn sequences() -> Vec<Sequence> {
    vec![
        family("what has no owner any more is collected")
            .delete_with(&at(MAPS, "a"), json!({"propagationPolicy": "Background"}))
            .until(&at(SECRETS, "of-a"), "", Value::Null)
            .delete_with(&at(MAPS, "b"), json!({"propagationPolicy": "Background"}))
            .until(&at(SECRETS, "of-both"), "", Value::Null),
        family("orphans stay")
            .delete_with(&at(MAPS, "a"), json!({"propagationPolicy": "Orphan"}))
            .until(&at(MAPS, "a"), "", Value::Null)
            .until(&at(SECRETS, "of-a"), "/type", json!("Opaque")),
        family("in the foreground the owner goes last")
            .delete_with(&at(MAPS, "a"), json!({"propagationPolicy": "Foreground"}))
            .until(&at(MAPS, "a"), "", Value::Null)
            .get(at(SECRETS, "of-a"))
            .get(at(MAPS, "b")),
        sequence("a namespace goes with all that is in it")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .post(SECRETS, secret(json!({"name": "held", "finalizers": ["example.org/f"]}), json!({})))
            .delete(&at(NAMESPACES, "{ns}"))
            .until(&at(MAPS, "a"), "", Value::Null)
            .until(&at(SECRETS, "held"), "/metadata/deletionGracePeriodSeconds", json!(0))
            .until(&at(NAMESPACES, "{ns}"), "/status/phase", json!("Terminating"))
            .post(MAPS, map(json!({"name": "late"}), json!({})))
            .merge(&at(SECRETS, "held"), json!({"metadata": {"finalizers": null}}))
            .until(&at(NAMESPACES, "{ns}"), "", Value::Null)
            .post(NAMESPACES, object("v1", "Namespace", &json!({"name": "{ns}"}), json!({}))),
    ]
}
