//! Where clusters come from: files and directories of kubeconfigs, and Secrets. All report [`SourceEvent`]s.
//!
//! A source knows names, roles and kubeconfigs. It connects to nothing, and it never takes back a cluster on account of
//! something that it could not read: an unreadable kubeconfig is [`SourceEvent::Rejected`] and the cluster as it was
//! goes on.

#[cfg(test)]
mod beside_tests;
mod check;
pub mod claims;
pub mod directory;
pub mod file;
mod listing;
mod parsed;
mod poll;
pub mod secret;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use broker_api::ClusterName;

pub use check::{Given, check_files};
pub use claims::Claims;
pub use listing::cluster_of;
pub use secret::SecretSource;

use crate::{kubeconfig::Kubeconfig, object::ObjectKey};

/// What a cluster's kubeconfig was read from. Ordered: of two that give one name, the lower one wins, so a file that
/// the person who started the process named goes before a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// A file.
    File(PathBuf),
    /// A Secret in the coordination cluster.
    Secret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl Provenance {
    /// The Secret, if it is one.
    pub fn secret(&self) -> Option<ObjectKey> {
        match self {
            Self::File(_) => None,
            Self::Secret { namespace, name } => Some(ObjectKey::new(namespace.as_str(), name.as_str())),
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Secret { namespace, name } => write!(f, "Secret {namespace}/{name}"),
        }
    }
}

/// What stands beside a kubeconfig, as it was found. What it means is others' business.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    #[default]
    Nothing,
    /// The Secret's metadata.
    Secret {
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// Those of its annotations that are ours; others may hold the kubeconfig itself.
        annotations: BTreeMap<String, String>,
    },
    /// A file `<cluster>.policy.yaml` in the same folder.
    File {
        /// Its name.
        name: String,
        /// What it holds, or why it cannot be read.
        content: Result<String, String>,
    },
}

/// A change in the set of clusters.
#[derive(Debug, Clone)]
pub enum SourceEvent {
    /// The cluster exists with this kubeconfig: connect, or reconnect if the fingerprint is another. Comes again when what
    /// stands beside it changes.
    Upsert {
        /// The cluster.
        name: ClusterName,
        /// How to reach it.
        kubeconfig: Arc<Kubeconfig>,
        /// What it was read from.
        from: Provenance,
        /// What stands beside it.
        beside: Arc<Beside>,
    },
    /// What was read cannot be used. A cluster that runs under this name goes on with what it has.
    Rejected {
        /// The cluster it would have been.
        name: ClusterName,
        /// What was read.
        from: Provenance,
        /// Why, with the remedy; holds no credential.
        reason: String,
    },
    /// What was read may not be the cluster that it says it is. That makes no cluster of it, and takes none away.
    Refused {
        /// What was read.
        from: Provenance,
        /// Why, with the remedy; `None`: that is over.
        reason: Option<String>,
    },
    /// What the cluster was read from is gone.
    Removed {
        /// The cluster.
        name: ClusterName,
        /// What it had been read from.
        from: Provenance,
    },
    /// The source has reported everything that was there when it started. Sent once.
    Synced,
}
