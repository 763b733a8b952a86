//! `Subscriptions`: who listens to which watch in which clusters.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use broker_api::ClusterName;

use crate::{
    cluster::Cluster,
    hashed::HashMap,
    listener::{ClusterSelector, Listener},
    watch::spec::WatchSpec,
    watched::Number,
};

/// Who listens to what.
pub(crate) struct Entry {
    pub(crate) selector: ClusterSelector,
    pub(crate) spec: Arc<WatchSpec>,
    pub(crate) listener: Arc<dyn Listener>,
}

type Numbered = BTreeMap<Number, Arc<Entry>>;

/// All subscriptions of a fleet.
#[derive(Default)]
pub(crate) struct Subscriptions(RwLock<Entries>);

/// By the clusters that they are for: where a thousand clusters have a hundred watches of their own each, none is looked at for
/// another.
#[derive(Default)]
struct Entries {
    next: Number,
    wide: Numbered,
    named: HashMap<ClusterName, Numbered>,
}

impl Entries {
    /// Those among which one for these clusters is.
    fn beside(&self, selector: &ClusterSelector) -> Option<&Numbered> {
        match selector {
            ClusterSelector::Name(name) => self.named.get(name),
            ClusterSelector::Role(_) | ClusterSelector::Labelled(..) => Some(&self.wide),
        }
    }

    /// Those that may be for a cluster, in the order in which they came.
    fn of(&self, cluster: &ClusterName) -> Vec<(Number, Arc<Entry>)> {
        let named = self.named.get(cluster).into_iter().flatten();
        let mut all: Vec<_> =
            self.wide.iter().chain(named).map(|(number, entry)| (*number, Arc::clone(entry))).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }
}

impl Subscriptions {
    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub(crate) fn add(&self, entry: Arc<Entry>) -> Number {
        let mut entries = self.write();
        let number = entries.next;
        entries.next += 1;
        let beside = match &entry.selector {
            ClusterSelector::Name(name) => entries.named.entry(name.clone()).or_default(),
            ClusterSelector::Role(_) | ClusterSelector::Labelled(..) => &mut entries.wide,
        };
        beside.insert(number, entry);
        number
    }

    /// One less. A cluster that is engaged from now on does not find it any more.
    pub(crate) fn remove(&self, number: Number, selector: &ClusterSelector) {
        let mut entries = self.write();
        let ClusterSelector::Name(name) = selector else {
            entries.wide.remove(&number);
            return;
        };
        if let Some(beside) = entries.named.get_mut(name) {
            beside.remove(&number);
            if beside.is_empty() {
                entries.named.remove(name);
            }
        }
    }

    /// Starts what is asked for in a cluster that has just been engaged.
    pub(crate) fn start(&self, cluster: &Arc<Cluster>) {
        let all = self.read().of(cluster.name());
        for (number, entry) in all {
            self.settle(cluster, number, &entry, Some(false));
        }
    }

    /// A cluster has other labels: what is asked for there by its labels starts and ends.
    pub(crate) fn relabelled(&self, cluster: &Arc<Cluster>) {
        let labelled = |(_, entry): &(&Number, &Arc<Entry>)| entry.selector.reads_labels();
        let all: Vec<_> =
            self.read().wide.iter().filter(labelled).map(|(number, entry)| (*number, Arc::clone(entry))).collect();
        for (number, entry) in all {
            self.settle(cluster, number, &entry, None);
        }
    }

    /// Has a subscription's listener listen in a cluster, or no more. `listens`: whether it does so already, if that is known.
    ///
    /// No lock is held while listeners are told, for they may subscribe and leave. So meanwhile the cluster's labels may have
    /// changed, or the subscription ended: whoever has acted looks again. Whose labels cannot be read goes on as it is.
    pub(crate) fn settle(&self, cluster: &Arc<Cluster>, number: Number, entry: &Entry, mut listens: Option<bool>) {
        loop {
            let lasts = self.read().beside(&entry.selector).is_some_and(|all| all.contains_key(&number));
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
