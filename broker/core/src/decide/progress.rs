//! `Progress`: how far a move has come.

use broker_api::MigrationState;

use crate::movement::{Configured, MigrationView};

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The new copy is made. Where that takes too long, the object goes elsewhere.
    Copying,
    /// The stages of its Migration run: they take as long as they take, and have limits of their own.
    Staged,
    /// The consumer is served by the new copy: there is no way back.
    Switched,
}

impl Progress {
    pub(super) fn of(migration: Option<&MigrationView>, dying: bool, configured: &Configured) -> Self {
        match migration {
            Some(migration) if migration.has_switched() => Self::Switched,
            Some(migration) if migration.state > MigrationState::Pending => Self::Staged,
            // With the old copy on its way out there is nothing to go back to either, and without stages nothing to wait for.
            None if dying && *configured == Configured::No => Self::Switched,
            Some(_) | None => Self::Copying,
        }
    }
}
