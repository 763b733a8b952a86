//! `ConfigurationStatuses`: MigrationConfigurations whose statuses are to be looked at, and what is remembered of them.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use runtime_effect::memory::{Memory, Sole};
use runtime_fleet::{
    object::ObjectKey,
    queue::{Key, Queue},
};

/// A MigrationConfiguration as the queue has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
#[derive(Default)]
pub struct ConfigurationStatuses {
    pub(super) queue: Arc<Queue<ConfigurationWork>>,
    remembered: Mutex<HashMap<ObjectKey, Memory<Sole>>>,
}

impl ConfigurationStatuses {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Memory<Sole>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
