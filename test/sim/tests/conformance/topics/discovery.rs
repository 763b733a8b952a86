//! What discovery tells, and what is published of kinds.

use crate::sequence::{DISCOVERY, Sequence, sequence};

pub(crate) fn sequences() -> Vec<Sequence> {
    vec![
        sequence("the kinds of a group")
            .get("/apis/sim.example.org")
            .get("/apis/sim.example.org/v1")
            .get("/apis/sim.example.org/v2")
            .get("/apis/nothing.example.org")
            .get("/apis/nothing.example.org/v1")
            .get("/apis/coordination.k8s.io"),
        sequence("all groups").get("/apis").get_as("/apis", DISCOVERY),
        sequence("what objects may look like")
            .published("/openapi/v3/apis/sim.example.org/v1", "Widget")
            .published("/openapi/v3/apis/sim.example.org/v1", "Gadget")
            .published("/openapi/v3/apis/sim.example.org/v1", "Planet")
            .get("/openapi/v3/apis/nothing.example.org/v1"),
        sequence("what built-in objects may look like")
            .published("/openapi/v3/api/v1", "ConfigMap")
            .published("/openapi/v3/api/v1", "Secret"),
        sequence("health").get("/readyz").get("/healthz"),
    ]
}
