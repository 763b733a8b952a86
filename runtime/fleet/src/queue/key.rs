//! `Key`: what can be queued.

use std::hash::Hash;

use broker_api::ClusterName;

/// What can be queued.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {
    /// Whose turn it takes.
    fn lane(&self) -> &ClusterName;
}

impl Key for ClusterName {
    fn lane(&self) -> &ClusterName {
        self
    }
}
