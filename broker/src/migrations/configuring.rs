//! `Configuring`: the MigrationConfigurations, and what is to be done about them.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime_fleet::object::ObjectKey;
use tokio::sync::mpsc;

use super::{change::ConfigurationChange, configurations::Current, statuses::ConfigurationStatuses};
use crate::recompile;

/// All MigrationConfigurations.
pub struct Configuring {
    /// What they say.
    pub(crate) current: Current,
    changes: mpsc::UnboundedSender<ConfigurationChange>,
    losses: AtomicU64,
    /// Their statuses, and those to look at.
    pub(crate) statuses: ConfigurationStatuses,
}

impl Configuring {
    /// None. Changes go through `changes` to the task that compiles them.
    pub(crate) fn new(changes: mpsc::UnboundedSender<ConfigurationChange>) -> Self {
        Self {
            current: Current::default(),
            changes,
            losses: AtomicU64::new(0),
            statuses: ConfigurationStatuses::default(),
        }
    }

    /// Something has happened that is to be taken in.
    pub(super) fn tell(&self, change: ConfigurationChange) {
        // Who takes it in has ended only where all has.
        let _ = self.changes.send(change);
    }

    /// The same once that task has had time for others: it was too busy for an expression.
    pub(super) fn tell_later(&self, key: &ObjectKey) {
        recompile::in_a_moment(&self.changes, ConfigurationChange::Changed(key.clone()));
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
