//! `Watched`: the watches that run in one cluster, and who hears of each.

mod listen;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use tokio_util::sync::CancellationToken;

use crate::{index::Index, listener::Listener};

/// Numbers subscriptions of one fleet.
pub(crate) type Number = u64;

/// A watch that runs, who hears of it, and how it is ended.
pub(crate) struct Watched {
    pub(crate) index: Arc<Index>,
    listeners: BTreeMap<Number, Arc<dyn Listener>>,
    /// The same, for whoever tells them.
    told: Arc<[Arc<dyn Listener>]>,
    /// Whether all of them have heard of all that is in the index, and that it is complete, and done with it what they do. Not
    /// while a list is being told.
    heard: AtomicBool,
    unwanted: CancellationToken,
}

impl Watched {
    /// Who has listened longest.
    pub(crate) fn first(&self) -> Option<Number> {
        self.listeners.keys().next().copied()
    }

    /// Others listen than before.
    fn changed(&mut self) {
        self.told = self.listeners.values().cloned().collect();
        self.index.set_may_drop(!self.told.is_empty() && self.told.iter().all(|listener| listener.reads_again()));
        if let Some(census) = self.told.iter().find_map(|listener| listener.census()) {
            self.index.count_in(&census);
        }
        for sort in self.told.iter().flat_map(|listener| listener.sorts()) {
            self.index.sort(*sort);
        }
    }
}
