//! `InstanceKey`: an instance, in a cluster.

use std::{fmt, sync::Arc};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_fleet::{object::ObjectKey, queue::Key};

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    /// The cluster that it is in.
    pub cluster: ClusterName,
    /// Its kind, in whatever version.
    pub kind: Arc<GroupKind>,
    /// Its namespace, empty where it has none, and its name.
    pub object: ObjectKey,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.object)
    }
}

impl Key for InstanceKey {
    fn lane(&self) -> &ClusterName {
        &self.cluster
    }
}
