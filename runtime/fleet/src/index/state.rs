//! `State`: what an index holds at one moment, and where that comes from.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    cost::cost,
    hashed::HashMap,
    object::{Object, ObjectKey},
    sorted::{Sorted, Values},
};

/// Where a newer object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An event of the watch.
    Watch,
    /// The response to one of our own writes or reads.
    Response,
}

/// Why what is held counts for nothing until it is listed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Doubt {
    /// It counts.
    #[default]
    None,
    /// Another process may have written since, and the watch be behind.
    Old,
    /// The API server has gone back in time: the next list alone is true, whatever versions say.
    Restored,
}

/// What an index holds at one moment.
#[derive(Default)]
pub(super) struct State {
    pub(super) objects: HashMap<ObjectKey, Arc<Object>>,
    /// How many objects each namespace holds. The keys are shared by the objects' keys.
    pub(super) namespaces: HashMap<Arc<str>, usize>,
    pub(super) sorted: Sorted,
    pub(super) complete: bool,
    /// Newest resource version that the watch has delivered, bookmarks included: all changes up to it are in.
    pub(super) progress: u64,
    pub(super) doubt: Doubt,
    /// What its kind's objects look like has changed since the last list.
    pub(super) redefined: bool,
    /// When a list began, the last time, because of that; or when there was nothing yet.
    pub(super) edition_since: Option<Instant>,
    /// While a list takes the place of what is held: what was learned from answers since it began to.
    pub(super) learned: Option<Vec<ObjectKey>>,
}

impl State {
    /// What all that it holds is charged.
    pub(super) fn cost(&self) -> usize {
        self.objects.iter().map(|(key, object)| cost(key, object)).sum::<usize>() + self.sorted.cost()
    }

    /// Sorts what is not as it was. `before`: what was sorted last. `found`: what objects were found to be under.
    pub(super) fn sort(&mut self, before: &HashMap<ObjectKey, Arc<Object>>, mut found: HashMap<ObjectKey, Values>) {
        let Self { objects, sorted, .. } = self;
        if sorted.is_empty() {
            return;
        }
        sorted.retain(|key| objects.contains_key(key));
        for (key, object) in objects {
            let old = before.get(key);
            if old.is_some_and(|old| Arc::ptr_eq(old, object)) {
                continue;
            }
            if old.is_some_and(|old| old.uid != object.uid) {
                sorted.remove(key);
            }
            sorted.put(key, object, found.remove(key).unwrap_or_default());
        }
    }

    pub(super) fn learn(&mut self, key: &ObjectKey) {
        if let Some(learned) = &mut self.learned {
            learned.push(key.clone());
        }
    }

    /// Puts an object in and returns its key as it is held.
    pub(super) fn insert(&mut self, key: ObjectKey, object: Arc<Object>) -> ObjectKey {
        let known = self.namespaces.get_key_value(&key.namespace).map(|(known, _)| Arc::clone(known));
        let key = ObjectKey { namespace: known.unwrap_or(key.namespace), name: key.name };
        if self.objects.insert(key.clone(), object).is_none() {
            *self.namespaces.entry(Arc::clone(&key.namespace)).or_default() += 1;
        }
        key
    }

    pub(super) fn take(&mut self, key: &ObjectKey) -> Option<(ObjectKey, Arc<Object>)> {
        let taken = self.objects.remove_entry(key)?;
        if let Some(count) = self.namespaces.get_mut(&key.namespace) {
            *count -= 1;
            if *count == 0 {
                self.namespaces.remove(&key.namespace);
            }
        }
        Some(taken)
    }
}
