//! `Work`: an origin that is to be looked at.

use broker_api::ClusterName;
use broker_core::snapshot::OriginKey;
use runtime_fleet::queue::Key;

/// An origin as the queue has it: its turn is that of its consumer cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Work(pub OriginKey);

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Key for Work {
    fn lane(&self) -> &ClusterName {
        &self.0.cluster
    }
}
