//! `Configuring`: the MigrationConfigurations, and what is to be done about them.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::{change::ConfigurationChange, configurations::Current, statuses::ConfigurationStatuses};
use crate::changes::Changes;

/// All MigrationConfigurations.
pub struct Configuring {
    /// What they say.
    pub(crate) current: Current,
    /// What has happened, for the task that compiles them.
    pub(super) changes: Changes<ConfigurationChange>,
    losses: AtomicU64,
    /// Their statuses, and those to look at.
    pub(crate) statuses: ConfigurationStatuses,
}

impl Configuring {
    /// None. Changes go through `changes` to the task that compiles them.
    pub(crate) fn new(changes: mpsc::UnboundedSender<ConfigurationChange>) -> Self {
        Self {
            current: Current::default(),
            changes: Changes::new(changes),
            losses: AtomicU64::new(0),
            statuses: ConfigurationStatuses::default(),
        }
    }

    /// How often their watch has lost sight of them: see [`ConfigurationChange::Complete`].
    pub(super) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    /// Their watch has lost sight of them once more.
    pub(super) fn lose(&self) {
        self.losses.fetch_add(1, Ordering::Release);
    }
}
