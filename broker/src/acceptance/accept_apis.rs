//! `AcceptApis`: what is known of AcceptAPIs, and what is to be done about them.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::HashSet;
use tokio::sync::mpsc;

use super::{
    change::AcceptChange,
    registry::Registry,
    statuses::{AcceptWork, Statuses},
};
use crate::changes::Changes;

/// All AcceptAPIs.
pub struct AcceptApis {
    registry: ArcSwap<Registry>,
    /// Held while the registry is changed: providers' changes are taken in side by side.
    changing: Mutex<()>,
    /// What has happened, for the task that takes it in.
    pub(crate) changes: Changes<AcceptChange>,
    /// Their statuses, and those to look at.
    pub(crate) statuses: Statuses,
    /// Kinds for which room has just come.
    roomy: Mutex<HashSet<Arc<Kind>>>,
}

impl AcceptApis {
    /// None. Changes go through `changes` to the task that takes them in.
    pub(crate) fn new(changes: mpsc::UnboundedSender<AcceptChange>) -> Self {
        Self {
            registry: ArcSwap::default(),
            changing: Mutex::default(),
            changes: Changes::new(changes),
            statuses: Statuses::default(),
            roomy: Mutex::default(),
        }
    }

    /// As of now.
    pub fn load(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Changes the registry. Returns it as it is now, and what `change` returns.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> (Arc<Registry>, T) {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut registry: Registry = (**self.registry.load()).clone();
        let made = change(&mut registry);
        let registry = Arc::new(registry);
        self.registry.store(Arc::clone(&registry));
        (registry, made)
    }

    /// Room has come for a kind. Whether that is the first since it was last [looked at](Self::room_taken).
    pub(super) fn is_first_room(&self, kind: &Arc<Kind>) -> bool {
        self.roomy.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(kind))
    }

    /// Those who wait for room for a kind are looked at.
    pub(super) fn room_taken(&self, kind: &Kind) {
        self.roomy.lock().unwrap_or_else(PoisonError::into_inner).remove(kind);
    }

    /// A provider has left.
    pub(crate) fn forget(&self, provider: &ClusterName) {
        for work in self.statuses.row(&AcceptWork::first_of(provider), |AcceptWork(id)| id.provider == *provider) {
            self.statuses.forget(&work);
        }
    }
}
