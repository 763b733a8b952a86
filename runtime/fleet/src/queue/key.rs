//! `Key`: what can be queued.

use std::{fmt, hash::Hash};

use broker_api::ClusterName;

use crate::object::ObjectKey;

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

/// An object of one cluster, in turn with all others there: the key of a machine that has one kind to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InCluster {
    /// The cluster.
    pub cluster: ClusterName,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl fmt::Display for InCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl Key for InCluster {
    fn lane(&self) -> &ClusterName {
        &self.cluster
    }
}
