//! An RGD whose graph has instances of another one's kind.

use e2e::Object;
use serde_json::json;

use super::fleet::{Fleet, PEACE, note, text_is};
use crate::{
    FLEET,
    rgd::{Node, Rgd},
    rights,
};

#[test]
fn both_get_to_all_clusters_whichever_comes_first() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let inner = Fleet::kind("inner", &note(""));
        let template = json!({
            "apiVersion": inner.api_version(), "kind": inner.kind,
            "metadata": {"name": "${schema.metadata.name}", "namespace": "${schema.metadata.namespace}"},
            "spec": {"text": "${schema.spec.text}"},
        });
        let outer = Rgd::new("Outer").spec(json!({"text": "string"})).node(Node::new("note", template));
        fleet.grant("outer-notes", rights::children(&inner)).await;
        // A kind that is on its way is no failure, after which all would be taken back.
        fleet.roll_out("outer", json!({"onFailure": "Rollback"})).await;
        let kind = Fleet::kind("outer", &outer);
        fleet.grant("outer-instances", rights::instances(&kind)).await;
        fleet.apply("outer", &outer).await;
        fleet.define("inner", &note("")).await;
        fleet.all_run(&inner, "1").await;
        fleet.all_run(&kind, "1").await;
        let done = |seen: &Object| seen.at("/status/completedRevision") == 1;
        fleet.rollout_until("outer", "to be done", done).await;
        let told = fleet.hub.events("default", "outer").await;
        assert!(!told.iter().any(|told| told.reason == "WaveFailed"), "{told:?}");
        fleet.bring_up("tokyo", &kind, "outer", "one").await;
        text_is(fleet.spoke("tokyo"), "outer", "tokyo").await;
    });
}
