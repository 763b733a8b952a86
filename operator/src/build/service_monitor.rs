//! Who scrapes the metrics, where prometheus-operator is.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    owner::Owner,
    program::Program,
};

pub(super) fn build(owner: &Owner, program: Program) -> Desired {
    Desired::new(
        OwnedKind::ServiceMonitor,
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": owned(owner, program, &program.name(owner)),
            "spec": {
                "selector": {"matchLabels": program.labels(owner)},
                "endpoints": [{"port": "metrics"}],
            },
        }),
    )
}
