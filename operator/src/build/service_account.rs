//! The ServiceAccount of the pods.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    owner::Owner,
    program::Program,
};

/// Its token is not handed to other pods that happen to run as it; the broker's pods ask for it.
pub(super) fn build(owner: &Owner, program: Program) -> Desired {
    Desired::new(
        OwnedKind::ServiceAccount,
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": owned(owner, program, &program.name(owner)),
            "automountServiceAccountToken": false,
        }),
    )
}
