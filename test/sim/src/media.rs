//! `Media`: in which form an answer is wanted.

use std::sync::Arc;

use serde_json::{Value, json};

/// A form of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Whole,
    /// Only metadata.
    Partial,
    /// All of discovery in one document.
    Discovery,
}

impl Media {
    pub(crate) fn accepted(accept: &str) -> Self {
        if accept.contains("as=PartialObjectMetadata") {
            Self::Partial
        } else if accept.contains("as=APIGroupDiscoveryList") {
            Self::Discovery
        } else {
            Self::Whole
        }
    }

    pub(crate) fn show(self, object: &Arc<Value>) -> Arc<Value> {
        match self {
            Self::Whole | Self::Discovery => Arc::clone(object),
            Self::Partial => {
                let mut partial = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"});
                partial["metadata"] = object["metadata"].clone();
                Arc::new(partial)
            }
        }
    }
}
