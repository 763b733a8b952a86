//! `Subscription`: somebody listens to a watch, in all clusters that are meant, now and later.

use std::sync::{Arc, Weak};

use crate::{
    fleet::Fleet,
    listener::{Listener, Selector},
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
    spec: Arc<WatchSpec>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(fleet) = self.fleet.upgrade() else { return };
        fleet.subscriptions().write().all.remove(&self.number);
        // A cluster that is engaged from now on does not find it any more.
        for cluster in fleet.clusters() {
            cluster.unlisten(&self.spec, self.number);
        }
    }
}

impl Fleet {
    /// Watches in every cluster that is meant, now and later, and tells `listener` of it. Where the watch runs already it is
    /// shared, and what has been seen of it is told by [`Listener::completed`].
    pub fn listen(
        self: &Arc<Self>,
        selector: &Selector,
        spec: &Arc<WatchSpec>,
        listener: &Arc<impl Listener>,
    ) -> Subscription {
        let listener: Arc<dyn Listener> = Arc::clone(listener) as _;
        let entry = Arc::new(Entry { selector: selector.clone(), spec: Arc::clone(spec), listener });
        let mut entries = self.subscriptions().write();
        let number = entries.next;
        entries.next += 1;
        entries.all.insert(number, Arc::clone(&entry));
        drop(entries);
        // One that is being engaged at this moment may be told twice: that is no harm.
        for cluster in self.clusters() {
            self.subscriptions().settle(&cluster, number, &entry, Some(false));
        }
        Subscription { fleet: Arc::downgrade(self), number, spec: Arc::clone(spec) }
    }
}

#[cfg(test)]
#[path = "subscription_tests.rs"]
mod tests;
