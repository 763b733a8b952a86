//! How many of several instances may be evicted at once.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    owner::Owner,
    program::Program,
};

/// One at a time: another one takes over, and a drained node never waits for ever.
pub(super) fn build(owner: &Owner, program: Program) -> Desired {
    Desired::new(
        OwnedKind::PodDisruptionBudget,
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": owned(owner, program, &program.name(owner)),
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": program.pod_selector(owner)},
                // A pod that does not get ready must not keep its node from being drained.
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        }),
    )
}
