//! `Subscription`: somebody listens to a watch, in all clusters that are meant, now and later.

use std::sync::{Arc, Weak};

use crate::{
    cluster::Cluster,
    fleet::Fleet,
    listener::{ClusterSelector, Listener},
    subscriptions::Entry,
    watch::spec::WatchSpec,
    watched::Number,
};

/// As long as this is held, the watch runs where it is asked for, and its listener hears of it. A watch that nobody listens
/// to any more ends.
#[must_use = "the watch ends when this is dropped"]
pub struct Subscription {
    fleet: Weak<Fleet>,
    number: Number,
    entry: Arc<Entry>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(fleet) = self.fleet.upgrade() else { return };
        fleet.subscriptions().remove(self.number, &self.entry.selector);
        for cluster in fleet.meant(&self.entry.selector) {
            cluster.unlisten(&self.entry.spec, self.number);
        }
    }
}

impl Fleet {
    /// Watches in every cluster that is meant, now and later, and tells `listener` of it. Where the watch runs already it is
    /// shared, and what has been seen of it is told by [`Listener::completed`].
    pub fn listen(
        self: &Arc<Self>,
        selector: &ClusterSelector,
        spec: &Arc<WatchSpec>,
        listener: &Arc<impl Listener>,
    ) -> Subscription {
        let listener: Arc<dyn Listener> = Arc::clone(listener) as _;
        let entry = Arc::new(Entry { selector: selector.clone(), spec: Arc::clone(spec), listener });
        let number = self.subscriptions().add(Arc::clone(&entry));
        // One that is being engaged at this moment may be told twice: that is no harm.
        for cluster in self.meant(selector) {
            self.subscriptions().settle(&cluster, number, &entry, Some(false));
        }
        Subscription { fleet: Arc::downgrade(self), number, entry }
    }

    /// The engaged clusters that a selector may mean, whatever their labels say now.
    fn meant(&self, selector: &ClusterSelector) -> Vec<Arc<Cluster>> {
        match selector {
            ClusterSelector::Name(name) => self.cluster(name).into_iter().collect(),
            ClusterSelector::Role(role) | ClusterSelector::Labelled(role, _) => self.in_role(*role),
        }
    }
}

#[cfg(test)]
#[path = "subscription_tests.rs"]
mod tests;
