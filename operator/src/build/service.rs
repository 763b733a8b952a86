//! Where the metrics are.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    owner::Owner,
    program::Program,
};

pub(super) fn build(owner: &Owner, program: Program, port: u16) -> Desired {
    Desired::new(
        OwnedKind::Service,
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": owned(owner, program, &program.metrics_name(owner)),
            "spec": {
                "selector": program.pod_selector(owner),
                "ports": [{"name": "metrics", "protocol": "TCP", "port": port, "targetPort": "metrics"}],
            },
        }),
    )
}
