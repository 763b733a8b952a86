//! `Media`: in which form an answer is wanted.

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

    pub(crate) fn show(self, object: Value) -> Value {
        match self {
            Self::Whole | Self::Discovery => object,
            Self::Partial => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
            }),
        }
    }
}
