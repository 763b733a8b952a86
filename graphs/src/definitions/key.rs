//! `DefinitionKey`: an RGD, in a cluster.

use std::{fmt, sync::Arc};

use broker_api::ClusterName;
use runtime_fleet::{object::ObjectKey, queue::Key};

/// An RGD.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionKey {
    /// The cluster that it is in.
    pub cluster: ClusterName,
    /// Its name.
    pub name: Arc<str>,
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Key for DefinitionKey {
    fn lane(&self) -> &ClusterName {
        &self.cluster
    }
}

/// The key of what is in no namespace.
pub fn key_of(name: &str) -> ObjectKey {
    ObjectKey::new("", name)
}
