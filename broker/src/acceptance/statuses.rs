//! `Statuses`: AcceptAPIs whose statuses are to be looked at, and what is remembered of them.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use broker_core::acceptance::AcceptId;
use runtime_effect::memory::{self, Memory};
use runtime_fleet::queue::{Key, Queue};
use tokio::time::Instant;

/// An AcceptAPI as the queue has it: its turn is that of its provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AcceptWork(pub AcceptId);

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
pub(super) struct Remembered {
    /// Of what was written.
    pub(super) memory: Memory<Field>,
    /// When its status may be written again.
    pub(super) rests: Option<Instant>,
}

/// AcceptAPIs to look at, and what is remembered of their statuses.
#[derive(Default)]
pub struct Statuses {
    pub(super) queue: Arc<Queue<AcceptWork>>,
    remembered: Mutex<HashMap<AcceptId, Remembered>>,
}

impl Statuses {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<AcceptId, Remembered>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at an AcceptAPI's status. One that rests is looked at afterwards, whatever happens until then.
    pub(super) fn enqueue(&self, id: &AcceptId) {
        let now = Instant::now();
        let rests = self.lock().get(id).is_some_and(|remembered| remembered.rests.is_some_and(|until| now < until));
        if !rests {
            self.queue.add(AcceptWork(id.clone()));
        }
    }

    /// A provider has left.
    pub fn forget(&self, provider: &ClusterName) {
        self.lock().retain(|id, _| id.provider != *provider);
    }
}
