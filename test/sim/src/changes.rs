//! `Changes`: wakes those who wait until something changes, or something of one kind. Most of what is written again and again
//! is leases, and hardly anybody waits for those.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{crd, history::Event, resource::Storage, state::CRDS};

/// Tells of revisions.
#[derive(Debug)]
pub(crate) struct Changes {
    all: watch::Sender<u64>,
    of: Mutex<BTreeMap<Storage, watch::Sender<u64>>>,
}

impl Changes {
    pub(crate) fn from(revision: u64) -> Self {
        Self { all: watch::Sender::new(revision), of: Mutex::default() }
    }

    fn kinds(&self) -> MutexGuard<'_, BTreeMap<Storage, watch::Sender<u64>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For whoever waits for any change.
    pub(crate) fn of_all(&self) -> watch::Receiver<u64> {
        self.all.subscribe()
    }

    /// For whoever waits for changes of a kind: of its objects, and of its CRD.
    pub(crate) fn of(&self, storage: &Storage) -> watch::Receiver<u64> {
        let revision = *self.all.borrow();
        self.kinds().entry(storage.clone()).or_insert_with(|| watch::Sender::new(revision)).subscribe()
    }

    /// These kinds have changed, and this is the last revision of it.
    pub(crate) fn tell(&self, revision: u64, kinds: &BTreeSet<Storage>) {
        if kinds.is_empty() {
            return;
        }
        let told = self.kinds();
        for kind in kinds.iter().filter_map(|kind| told.get(kind)) {
            kind.send_replace(revision);
        }
        drop(told);
        self.all.send_replace(revision);
    }

    /// All are to look again.
    pub(crate) fn wake(&self) {
        for kind in self.kinds().values().chain([&self.all]) {
            kind.send_modify(|_| {});
        }
    }
}

/// The kinds that an event is of: that of its object, and, of a CRD, that which it defines.
pub(crate) fn kinds_of(event: &Event) -> impl Iterator<Item = Storage> {
    let is_crd = [&*event.storage.group, &*event.storage.plural] == CRDS;
    let crd = event.after.as_deref().or(event.before.as_deref()).filter(|_| is_crd);
    [Some(event.storage.clone()), crd.map(crd::defined)].into_iter().flatten()
}
