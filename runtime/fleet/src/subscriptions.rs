//! `Subscriptions`: who listens to which watch in which clusters.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use crate::{
    cluster::Cluster,
    listener::{Listener, Selector},
    watch::spec::WatchSpec,
    watched::Number,
};

/// Who listens to what.
pub(crate) struct Entry {
    pub(crate) selector: Selector,
    pub(crate) spec: Arc<WatchSpec>,
    pub(crate) listener: Arc<dyn Listener>,
}

/// All subscriptions of a fleet.
#[derive(Default)]
pub(crate) struct Subscriptions(RwLock<Entries>);

#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) next: Number,
    pub(crate) all: BTreeMap<Number, Arc<Entry>>,
}

impl Subscriptions {
    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<(Number, Arc<Entry>)> {
        self.read().all.iter().map(|(number, entry)| (*number, Arc::clone(entry))).collect()
    }

    /// Starts what is asked for in a cluster that has just been engaged.
    pub(crate) fn start(&self, cluster: &Arc<Cluster>) {
        for (number, entry) in self.all() {
            self.settle(cluster, number, &entry, Some(false));
        }
    }

    /// A cluster has other labels: what is asked for there by its labels starts and ends.
    pub(crate) fn relabelled(&self, cluster: &Arc<Cluster>) {
        for (number, entry) in self.all().into_iter().filter(|(_, entry)| entry.selector.reads_labels()) {
            self.settle(cluster, number, &entry, None);
        }
    }

    /// Has a subscription's listener listen in a cluster, or no more. `listens`: whether it does so already, if that is known.
    ///
    /// No lock is held while listeners are told, for they may subscribe and leave. So meanwhile the cluster's labels may have
    /// changed, or the subscription ended: whoever has acted looks again. Whose labels cannot be read goes on as it is.
    pub(crate) fn settle(&self, cluster: &Arc<Cluster>, number: Number, entry: &Entry, mut listens: Option<bool>) {
        loop {
            let lasts = self.read().all.contains_key(&number);
            let wanted =
                if lasts { entry.selector.selects(cluster.name(), cluster.labels().as_ref()) } else { Some(false) };
            match wanted {
                Some(true) if listens != wanted => cluster.listen(&entry.spec, number, &entry.listener),
                Some(false) if listens != wanted => cluster.unlisten(&entry.spec, number),
                _ => return,
            }
            listens = wanted;
        }
    }
}
