//! `ConfigurationStatuses`: MigrationConfigurations whose statuses are to be looked at, and what is remembered of them.

use runtime_effect::memory::{Memory, Sole};
use runtime_engine::records::Records;
use runtime_fleet::queue::InCluster;

/// A MigrationConfiguration as the queue has it, in the coordination cluster.
pub type ConfigurationWork = InCluster;

/// MigrationConfigurations to look at, and what is remembered of their statuses.
pub type ConfigurationStatuses = Records<ConfigurationWork, Memory<Sole>>;
