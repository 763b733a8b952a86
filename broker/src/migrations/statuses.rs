//! `ConfigurationStatuses`: MigrationConfigurations whose statuses are to be looked at, and what is remembered of them.

use std::fmt;

use broker_api::ClusterName;
use runtime_effect::memory::{Memory, Sole};
use runtime_engine::records::Records;
use runtime_fleet::{object::ObjectKey, queue::Key};

/// A MigrationConfiguration as the queue has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigurationWork {
    /// The coordination cluster.
    pub(super) hub: ClusterName,
    /// Namespace and name.
    pub(super) key: ObjectKey,
}

impl fmt::Display for ConfigurationWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl Key for ConfigurationWork {
    fn lane(&self) -> &ClusterName {
        &self.hub
    }
}

/// MigrationConfigurations to look at, and what is remembered of their statuses.
pub type ConfigurationStatuses = Records<ConfigurationWork, Memory<Sole>>;
