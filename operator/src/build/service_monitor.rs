//! Who scrapes the metrics, where prometheus-operator is.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, Kind},
    owner::Owner,
};

pub(super) fn build(owner: &Owner) -> Desired {
    Desired::new(
        Kind::ServiceMonitor,
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": owned(owner, &owner.name),
            "spec": {
                "selector": {"matchLabels": owner.labels()},
                "endpoints": [{"port": "metrics"}],
            },
        }),
    )
}
