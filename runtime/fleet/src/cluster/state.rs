//! `ClusterState`: how it stands with a cluster; and what the platform says of it.

use std::{collections::BTreeMap, sync::Arc};

use tokio::time::Instant;

/// How it stands with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterState {
    /// No connection yet.
    Connecting,
    /// Requests go through.
    Ready,
    /// Requests do not go through; nothing is known of what happens there.
    Unreachable {
        /// Since when.
        since: Instant,
        /// In one word.
        cause: Cause,
        /// The last error.
        why: String,
    },
    /// Taken out of the configuration.
    Leaving,
}

/// Why requests do not go through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cause {
    /// It does not answer, or not us.
    #[default]
    Lost,
    /// It is another API server than it was.
    IdentityChanged,
    /// It is engaged as another cluster already.
    Duplicate,
}

impl ClusterState {
    /// A word for metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Ready => "Ready",
            Self::Unreachable { .. } => "Unreachable",
            Self::Leaving => "Leaving",
        }
    }
}

/// Labels of a cluster, as the platform gives them.
pub type Labels = Arc<BTreeMap<String, String>>;
