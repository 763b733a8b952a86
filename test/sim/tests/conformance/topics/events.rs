//! Events.

use serde_json::json;

use crate::sequence::{Sequence, object, sequence};

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/{ns}/events";

pub(crate) fn sequences() -> Vec<Sequence> {
    let event = |name: &str| {
        object(
            "events.k8s.io/v1",
            "Event",
            &json!({"name": name, "namespace": "{ns}"}),
            json!({
                "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "c", "reportingInstance": "c", "action": "Do",
                "reason": "Done", "note": "it is", "type": "Normal",
                "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "{ns}", "name": "a", "uid": "11111111-2222-4333-8444-555555555555"},
            }),
        )
    };
    let core = "/api/v1/namespaces/{ns}/events";
    vec![
        sequence("Events are read in the core group")
            .post(EVENTS, event("a"))
            .get(format!("{core}/a"))
            .get(core)
            .get(format!("{core}?fieldSelector=involvedObject.name%3Da"))
            .get(format!("{core}?fieldSelector=involvedObject.name%3Db,type%3DNormal"))
            .get(format!("{core}?fieldSelector=note%3Dx"))
            .get(format!("{core}/b"))
            .delete(EVENTS)
            .get(core),
        sequence("an Event is told once")
            .post(EVENTS, event("a"))
            .post(EVENTS, event("a"))
            .get(format!("{EVENTS}/a"))
            .get("/apis/events.k8s.io/v1/namespaces/missing-{ns}/events")
            .post(
                "/apis/events.k8s.io/v1/namespaces/missing-{ns}/events",
                object("events.k8s.io/v1", "Event", &json!({"name": "a"}), json!({})),
            ),
    ]
}
