//! `ClusterSecrets`: the Secrets that kubeconfigs of clusters are read from, and what changes of them.

use std::sync::Arc;

use broker_api::Role;
use runtime_fleet::{object::ObjectKey, watch::WatchSpec};

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

/// A change of a cluster Secret, or the end of their first list.
#[derive(Debug)]
pub enum SecretChange {
    /// Look at this one again.
    Changed(ObjectKey),
    /// All of them are in.
    Complete,
}
