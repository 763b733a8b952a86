//! `Statuses`: AcceptAPIs whose statuses are to be looked at, and what is remembered of them.

use std::fmt;

use broker_api::ClusterName;
use broker_core::acceptance::AcceptId;
use runtime_effect::memory::{self, Memory};
use runtime_engine::records::Records;
use runtime_fleet::queue::Key;
use tokio::time::Instant;

/// An AcceptAPI as the queue has it: its turn is that of its provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AcceptWork(pub AcceptId);

impl AcceptWork {
    /// What stands before all of a provider.
    pub(super) fn first_of(provider: &ClusterName) -> Self {
        Self(AcceptId { provider: provider.clone(), namespace: "".into(), name: "".into() })
    }
}

impl fmt::Display for AcceptWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Key for AcceptWork {
    fn lane(&self) -> &ClusterName {
        &self.0.provider
    }
}

/// What of an AcceptAPI is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Its finalizers.
    Finalizers,
    /// Its status.
    Status,
}

impl memory::Subject for Field {
    const MOST: usize = 2;

    fn is_many(self) -> bool {
        false
    }

    fn is_paced(self) -> bool {
        false
    }
}

/// What is remembered of a status.
#[derive(Default)]
pub struct Remembered {
    /// Of what was written.
    pub memory: Memory<Field>,
    /// When its status may be written again.
    pub rests: Option<Instant>,
}

/// AcceptAPIs to look at, and what is remembered of their statuses.
pub type Statuses = Records<AcceptWork, Remembered>;
