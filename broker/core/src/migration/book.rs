//! `Book`: the Migrations that are known, and who each of them concerns.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::ClusterName;
use runtime_effect::object_key::ObjectKey;

use super::{known::Known, moved_origin::MovedOrigin};
use crate::{memory::Memory, movement::MigrationView, snapshot::OriginKey};

/// One Migration.
#[derive(Debug)]
pub struct Entry<Rest> {
    known: Arc<Known>,
    about: MovedOrigin,
    /// What earlier decisions about it left.
    pub memory: Memory,
    /// What else whoever keeps the book remembers of it.
    pub rest: Rest,
}

impl<Rest> Entry<Rest> {
    /// What is known of it.
    pub fn known(&self) -> &Arc<Known> {
        &self.known
    }

    /// Which origin it is about.
    pub fn about(&self) -> &MovedOrigin {
        &self.about
    }
}

/// What became of a Migration that was taken in.
#[derive(Debug)]
pub struct Taken<Rest> {
    /// Origins that are to be looked at because of it.
    pub concerned: Vec<OriginKey>,
    /// The one that is there no longer: it has gone, or another has its name now.
    pub gone: Option<Entry<Rest>>,
}

/// All Migrations.
#[derive(Debug)]
pub struct Book<Rest> {
    entries: BTreeMap<ObjectKey, Entry<Rest>>,
    by_origin: BTreeMap<OriginKey, BTreeSet<ObjectKey>>,
    by_id: BTreeMap<String, BTreeSet<ObjectKey>>,
    by_copy: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// Those that are open. Ended ones are kept for a day.
    open: BTreeSet<ObjectKey>,
    /// The same by cluster: the two providers, and the origin's consumer. Decisions look at no other of those.
    open_at: BTreeMap<ClusterName, BTreeSet<ObjectKey>>,
}

impl<Rest> Default for Book<Rest> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            by_origin: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_copy: BTreeMap::new(),
            open: BTreeSet::new(),
            open_at: BTreeMap::new(),
        }
    }
}

fn remove<K: Ord>(map: &mut BTreeMap<K, BTreeSet<ObjectKey>>, key: &K, migration: &ObjectKey) {
    if let Some(held) = map.get_mut(key) {
        held.remove(migration);
        if held.is_empty() {
            map.remove(key);
        }
    }
}

/// Clusters other than the hub whose doings concern a Migration.
fn places<'m>(known: &'m Known, about: &'m MovedOrigin) -> impl Iterator<Item = &'m ClusterName> {
    let consumer = about.origin().map(|origin| &origin.cluster);
    [&known.from.provider, &known.to.provider].into_iter().chain(consumer)
}

impl<Rest: Default> Book<Rest> {
    /// Takes in what a Migration is now, or that it is gone.
    pub fn update(&mut self, key: &ObjectKey, after: Option<(Known, MovedOrigin)>) -> Taken<Rest> {
        let before = self.entries.remove(key);
        if let Some(before) = &before {
            self.unlink(key, &before.known, &before.about);
        }
        let Some((known, about)) = after else {
            let concerned = before.iter().filter_map(|before| before.about.origin().cloned()).collect();
            return Taken { concerned, gone: before };
        };
        self.link(key, &known, &about);
        let mut concerned: Vec<OriginKey> = Vec::new();
        let news = before.as_ref().is_none_or(|before| before.known.view != known.view || before.about != about);
        if news {
            concerned.extend(about.origin().cloned());
            let left = before.as_ref().and_then(|before| before.about.origin());
            concerned.extend(left.filter(|left| Some(*left) != about.origin()).cloned());
        }
        // Another object under the name has no past. The answer to a write comes by here before it is heard that it went through.
        let (memory, rest, gone) = match before {
            Some(of) if of.known.uid == known.uid => (of.memory, of.rest, None),
            other => (Memory::default(), Rest::default(), other),
        };
        self.entries.insert(key.clone(), Entry { known: Arc::new(known), about, memory, rest });
        Taken { concerned, gone }
    }
}

impl<Rest> Book<Rest> {
    fn link(&mut self, key: &ObjectKey, known: &Known, about: &MovedOrigin) {
        if let Some(origin) = about.origin() {
            self.by_origin.entry(origin.clone()).or_default().insert(key.clone());
        }
        if let Some(id) = &known.id {
            self.by_id.entry(id.clone()).or_default().insert(key.clone());
        }
        self.by_copy.entry(known.from.key.clone()).or_default().insert(key.clone());
        self.by_copy.entry(known.to.key.clone()).or_default().insert(key.clone());
        if known.is_open() {
            self.open.insert(key.clone());
            for cluster in places(known, about) {
                self.open_at.entry(cluster.clone()).or_default().insert(key.clone());
            }
        }
    }

    fn unlink(&mut self, key: &ObjectKey, known: &Known, about: &MovedOrigin) {
        if let Some(origin) = about.origin() {
            remove(&mut self.by_origin, origin, key);
        }
        if let Some(id) = &known.id {
            remove(&mut self.by_id, id, key);
        }
        remove(&mut self.by_copy, &known.from.key, key);
        remove(&mut self.by_copy, &known.to.key, key);
        self.open.remove(key);
        for cluster in places(known, about) {
            remove(&mut self.open_at, cluster, key);
        }
    }

    /// It has turned out which origin a Migration is about, by what was known of it; what has become known since says more.
    /// Returns the origins that are to be looked at because of it.
    pub fn set_about(&mut self, known: &Arc<Known>, about: MovedOrigin) -> Vec<OriginKey> {
        let entry = self.entries.get_mut(&known.key);
        let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.known, known) && entry.about != about) else {
            return Vec::new();
        };
        let (after, before) = (about.clone(), std::mem::replace(&mut entry.about, about));
        self.unlink(&known.key, known, &before);
        self.link(&known.key, known, &after);
        [&before, &after].into_iter().filter_map(MovedOrigin::origin).cloned().collect()
    }

    /// One of them.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entry<Rest>> {
        self.entries.get(key)
    }

    /// The same, to change what is remembered of it.
    pub fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Entry<Rest>> {
        self.entries.get_mut(key)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ObjectKey, &Entry<Rest>)> {
        self.entries.iter()
    }

    /// The Migrations of the origin with this uid, the oldest first. Those of an earlier object of its name are not its own.
    pub fn of(&self, origin: &OriginKey, uid: &str) -> Vec<MigrationView> {
        let keys = self.by_origin.get(origin).into_iter().flatten();
        let mut views: Vec<MigrationView> = keys
            .filter_map(|key| self.entries.get(key).filter(|entry| entry.about.is_of(uid)))
            .map(|entry| entry.known.view.clone())
            .collect();
        views.sort_by(|a, b| (a.created, &a.namespace, &a.name).cmp(&(b.created, &b.namespace, &b.name)));
        views
    }

    /// Whether another Migration makes the copy that this one is to leave, and goes first.
    pub fn makes_for(&self, known: &Known) -> bool {
        let of_its_name = self.by_copy.get(&known.from.key).into_iter().flatten();
        let mut entries = of_its_name.filter_map(|key| self.entries.get(key));
        entries.any(|entry| entry.known.makes_for(entry.about.origin().is_some(), known))
    }

    /// Those of these that are open.
    fn opened<'k>(&self, keys: Option<&'k BTreeSet<ObjectKey>>) -> impl Iterator<Item = &'k ObjectKey> {
        keys.into_iter().flatten().filter(|key| self.open.contains(*key))
    }

    /// Those that are open.
    pub fn open(&self) -> &BTreeSet<ObjectKey> {
        &self.open
    }

    /// Those that are open and about an origin.
    pub fn open_about(&self, origin: &OriginKey) -> Vec<ObjectKey> {
        self.opened(self.by_origin.get(origin)).cloned().collect()
    }

    /// Those that are open and move a copy of this name.
    pub fn open_of_copy(&self, copy: &ObjectKey) -> Vec<ObjectKey> {
        self.opened(self.by_copy.get(copy)).cloned().collect()
    }

    /// Those that are open and have to do with a provider or a consumer.
    pub fn open_at(&self, cluster: &ClusterName) -> BTreeSet<ObjectKey> {
        self.open_at.get(cluster).cloned().unwrap_or_default()
    }

    /// Those whose stage objects carry this id.
    pub fn with_id(&self, id: &str) -> BTreeSet<ObjectKey> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }
}
