//! `ClusterSecrets`: the Secrets that kubeconfigs of clusters are read from.

use std::sync::Arc;

use broker_api::Role;
use runtime_fleet::watch::WatchSpec;

/// The cluster Secrets of one namespace.
#[derive(Debug, Clone)]
pub struct ClusterSecrets {
    /// Their namespace.
    pub namespace: String,
    /// Which roles they may give.
    pub roles: Vec<Role>,
    /// Their watch.
    pub spec: Arc<WatchSpec>,
}
