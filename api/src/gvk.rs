//! `Gvk`: group, version and kind, as objects name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Group, version and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Gvk {
    /// API group; empty or `core` for the core group.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub group: String,
    /// API version, for example `v1alpha1`.
    #[schemars(length(min = 1, max = 63))]
    pub version: String,
    /// Kind, for example `Certificate`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
}
