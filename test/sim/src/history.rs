//! `History`: what has happened in an API server, for those who watch.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use crate::resource::Storage;

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Empty: in none.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Where an object says that it is.
    pub(crate) fn of(object: &Value) -> Self {
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        Self::new(text("namespace"), text("name"))
    }
}

/// One change.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) storage: Storage,
    pub(crate) key: Key,
    /// What was there before.
    pub(crate) before: Option<Arc<Value>>,
    /// What is there since. `None`: nothing.
    pub(crate) after: Option<Arc<Value>>,
}

/// Changes, and how far back they are known.
#[derive(Debug, Clone)]
pub(crate) struct History {
    /// Of the last change.
    revision: u64,
    /// What came before is forgotten.
    compacted: u64,
    /// The last change of each kind that is forgotten.
    forgotten: BTreeMap<Storage, u64>,
    events: VecDeque<Event>,
}

impl History {
    pub(crate) fn from(revision: u64) -> Self {
        Self { revision, compacted: revision, forgotten: BTreeMap::new(), events: VecDeque::new() }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision of the next change.
    pub(crate) fn advance(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    pub(crate) fn record(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Forgets all that was before now.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        self.forgotten.extend(self.events.drain(..).map(|event| (event.storage, event.revision)));
    }

    /// Forgets all but so many changes. Whether there were more.
    pub(crate) fn remember(&mut self, changes: usize) -> bool {
        let Some(more) = self.events.len().checked_sub(changes).filter(|more| *more > 0) else { return false };
        for Event { storage, revision, .. } in self.events.drain(..more) {
            self.compacted = revision;
            self.forgotten.insert(storage, revision);
        }
        true
    }

    /// Whether all is known that happened after a revision.
    pub(crate) fn reaches(&self, revision: u64) -> bool {
        revision >= self.compacted
    }

    /// The same of one kind.
    pub(crate) fn reaches_of(&self, storage: &Storage, revision: u64) -> bool {
        self.forgotten.get(storage).is_none_or(|last| revision >= *last)
    }

    pub(crate) fn since(&self, revision: u64) -> impl Iterator<Item = &Event> {
        let from = self.events.partition_point(|event| event.revision <= revision);
        self.events.range(from..)
    }

    /// What was there at a revision, if that is still known, where `now` is what is there.
    pub(crate) fn undone(
        &self,
        storage: &Storage,
        key: &Key,
        revision: u64,
        now: Option<&Arc<Value>>,
    ) -> Option<Arc<Value>> {
        let first = self.since(revision).find(|event| event.storage == *storage && event.key == *key);
        first.map_or_else(|| now.cloned(), |event| event.before.clone())
    }

    /// Whatever was touched in a storage since.
    pub(crate) fn touched(&self, storage: &Storage, revision: u64) -> impl Iterator<Item = &Key> {
        self.since(revision).filter(move |event| event.storage == *storage).map(|event| &event.key)
    }
}
