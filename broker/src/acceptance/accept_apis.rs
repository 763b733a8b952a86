//! `AcceptApis`: what is known of AcceptAPIs, and what is to be done about them.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use tokio::sync::mpsc;

use super::{
    change::AcceptChange,
    registry::Registry,
    statuses::{AcceptWork, Statuses},
};
use crate::{changes::Changes, gathered::Gathered};

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
    pub(super) roomy: Gathered<Arc<Kind>>,
}

impl AcceptApis {
    /// None. Changes go through `changes` to the task that takes them in.
    pub(crate) fn new(changes: mpsc::UnboundedSender<AcceptChange>) -> Self {
        Self {
            registry: ArcSwap::default(),
            changing: Mutex::default(),
            changes: Changes::new(changes),
            statuses: Statuses::default(),
            roomy: Gathered::default(),
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

    /// A provider has left.
    pub(crate) fn forget(&self, provider: &ClusterName) {
        for work in self.statuses.row(&AcceptWork::first_of(provider), |AcceptWork(id)| id.provider == *provider) {
            self.statuses.forget(&work);
        }
    }
}
