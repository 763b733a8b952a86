//! `Migrations`: what is remembered of each Migration, and who it concerns.

pub mod overview;

use std::{
    collections::BTreeSet,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::{ClusterName, MigrationState};
use broker_core::{
    memory::Memory,
    migration::{known::Known, moved_origin::MovedOrigin},
    movement::MigrationView,
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, note::Note};
use runtime_engine::recorder::Told;
use runtime_fleet::{
    hashed::HashMap,
    object::ObjectKey,
    queue::{Key, Queue},
};

use crate::metrics::{METRICS, ReasonLabels, ResultLabels, StateLabels};

/// A Migration as the queue has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MigrationWork {
    /// The coordination cluster.
    pub lane: ClusterName,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl std::fmt::Display for MigrationWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.key.fmt(f)
    }
}

impl Key for MigrationWork {
    fn lane(&self) -> &ClusterName {
        &self.lane
    }
}

/// What ends with the writes of a decision, for metrics.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Stages: name, how many milliseconds they took, and whether they succeeded.
    pub(super) stages: Vec<(String, u64, bool)>,
    /// Why the Migration fails: CamelCase word.
    pub(super) failed: Option<&'static str>,
}

impl Ends {
    /// It has come to that.
    pub(super) fn count(self) {
        for (_, millis, succeeded) in self.stages {
            let labels = ResultLabels { result: if succeeded { "Succeeded" } else { "Failed" } };
            // Milliseconds below 2^53 are exact.
            #[expect(clippy::cast_precision_loss, reason = "durations of stages are far below 2^53 ms")]
            METRICS.stage_duration.get_or_create(&labels).observe(millis as f64 / 1000.0);
        }
        if let Some(reason) = self.failed {
            METRICS.migration_failures.get_or_create(&ReasonLabels { reason: reason.into() }).inc();
        }
    }
}

/// What is remembered of one Migration.
struct Entry {
    known: Arc<Known>,
    about: MovedOrigin,
    memory: Memory,
    interests: Vec<Interest>,
    told: Told,
    ends: Ends,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<ObjectKey, Entry>,
    by_origin: HashMap<OriginKey, BTreeSet<ObjectKey>>,
    by_id: HashMap<String, BTreeSet<ObjectKey>>,
    by_copy: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
    interests: HashMap<Interest, BTreeSet<ObjectKey>>,
    /// Those that are open. Ended ones are kept for a day.
    open: BTreeSet<ObjectKey>,
    /// The same by cluster: the two providers, and the origin's consumer. Decisions look at no other of those.
    open_at: HashMap<ClusterName, BTreeSet<ObjectKey>>,
}

/// All Migrations, and those of them to look at.
#[derive(Default)]
pub struct Migrations {
    inner: Mutex<Inner>,
    /// Migrations to look at.
    pub queue: Arc<Queue<MigrationWork>>,
    hub: Mutex<Option<ClusterName>>,
    /// Held while what a Migration says is read with the keys that count, so that none is taken in by older ones.
    keys: Mutex<()>,
}

fn remove<K: Hash + Eq>(map: &mut HashMap<K, BTreeSet<ObjectKey>>, key: &K, migration: &ObjectKey) {
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

impl Inner {
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
}

impl Migrations {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this is held no other Migration is taken in, and no other keys come to count.
    pub(super) fn keys(&self) -> MutexGuard<'_, ()> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at a Migration.
    pub fn enqueue(&self, key: ObjectKey) {
        let hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // None has been seen where there is no hub.
        if let Some(lane) = hub {
            self.queue.add(MigrationWork { lane, key });
        }
    }

    pub(super) fn enqueue_each(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        for key in keys {
            self.enqueue(key);
        }
    }

    /// The cluster where Migrations are.
    pub fn set_hub(&self, hub: &ClusterName) {
        let mut held = self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref() != Some(hub) {
            *held = Some(hub.clone());
        }
    }

    /// Takes in what a Migration is now, or that it is gone. Returns the origins that are to be looked at because of it.
    pub fn update(&self, key: &ObjectKey, after: Option<(Known, MovedOrigin)>) -> Vec<OriginKey> {
        let mut inner = self.lock();
        let before = inner.entries.remove(key);
        if let Some(before) = &before {
            inner.unlink(key, &before.known, &before.about);
            count(before.known.view.state, -1);
        }
        let mut concerned: Vec<OriginKey> = Vec::new();
        let Some((known, about)) = after else {
            if let Some(before) = before {
                for interest in &before.interests {
                    remove(&mut inner.interests, interest, key);
                }
                concerned.extend(before.about.origin().cloned());
            }
            return concerned;
        };
        inner.link(key, &known, &about);
        count(known.view.state, 1);
        let news = before.as_ref().is_none_or(|before| before.known.view != known.view || before.about != about);
        if news {
            concerned.extend(about.origin().cloned());
            let left = before.as_ref().and_then(|before| before.about.origin());
            concerned.extend(left.filter(|left| Some(*left) != about.origin()).cloned());
        }
        // Another object under the name has no past. The answer to a write comes by here before it is heard that it went through.
        let (memory, interests, told, ends) = match before {
            Some(of) if of.known.uid == known.uid => (of.memory, of.interests, of.told, of.ends),
            Some(other) => (Memory::default(), other.interests, Told::default(), Ends::default()),
            None => Default::default(),
        };
        let known = Arc::new(known);
        inner.entries.insert(key.clone(), Entry { known, about, memory, interests, told, ends });
        concerned
    }

    /// It has turned out which origin a Migration is about, by what was known of it; what has become known since says more.
    /// Returns the origins that are to be looked at because of it.
    pub fn set_about(&self, known: &Arc<Known>, about: MovedOrigin) -> Vec<OriginKey> {
        let mut inner = self.lock();
        let entry = inner.entries.get_mut(&known.key);
        let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.known, known) && entry.about != about) else {
            return Vec::new();
        };
        let (after, before) = (about.clone(), std::mem::replace(&mut entry.about, about));
        inner.unlink(&known.key, known, &before);
        inner.link(&known.key, known, &after);
        [&before, &after].into_iter().filter_map(MovedOrigin::origin).cloned().collect()
    }

    /// What is known of a Migration, which origin it is about, and what earlier decisions left.
    pub fn get(&self, key: &ObjectKey) -> Option<(Arc<Known>, MovedOrigin, Memory)> {
        let inner = self.lock();
        let entry = inner.entries.get(key)?;
        Some((Arc::clone(&entry.known), entry.about.clone(), entry.memory.clone()))
    }

    /// Changes what is remembered of the writes of a Migration.
    pub fn remember<T>(&self, key: &ObjectKey, change: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        self.lock().entries.get_mut(key).map(|entry| change(&mut entry.memory))
    }

    /// Notes that this is told of a Migration now. Its uid, if that is news.
    pub(super) fn news(&self, key: &ObjectKey, note: &Note) -> Option<Box<str>> {
        let mut inner = self.lock();
        let entry = inner.entries.get_mut(key)?;
        entry.told.is_news(note).then(|| entry.known.uid.clone())
    }

    /// What ends once the writes that were just decided on go through.
    pub(super) fn set_ends(&self, key: &ObjectKey, ends: Ends) {
        if let Some(entry) = self.lock().entries.get_mut(key) {
            entry.ends = ends;
        }
    }

    /// They went through.
    pub(super) fn take_ends(&self, key: &ObjectKey) -> Ends {
        self.lock().entries.get_mut(key).map(|entry| std::mem::take(&mut entry.ends)).unwrap_or_default()
    }

    /// Takes in which related objects a Migration listens to. Returns whether any is new: it may have changed meanwhile.
    pub fn listen(&self, key: &ObjectKey, now: &[Interest]) -> bool {
        let mut inner = self.lock();
        let Inner { entries, interests, .. } = &mut *inner;
        let Some(entry) = entries.get_mut(key) else { return false };
        for gone in entry.interests.iter().filter(|interest| !now.contains(interest)) {
            remove(interests, gone, key);
        }
        let mut new = false;
        for interest in now.iter().filter(|interest| !entry.interests.contains(interest)) {
            interests.entry(interest.clone()).or_default().insert(key.clone());
            new = true;
        }
        if entry.interests != now {
            entry.interests = now.to_vec();
        }
        new
    }

    /// The Migrations of the origin with this uid, the oldest first. Those of an earlier object of its name are not its own.
    pub fn of(&self, origin: &OriginKey, uid: &str) -> Vec<MigrationView> {
        let inner = self.lock();
        let keys = inner.by_origin.get(origin).into_iter().flatten();
        let mut views: Vec<MigrationView> = keys
            .filter_map(|key| inner.entries.get(key).filter(|entry| entry.about.is_of(uid)))
            .map(|entry| entry.known.view.clone())
            .collect();
        views.sort_by(|a, b| (a.created, &a.namespace, &a.name).cmp(&(b.created, &b.namespace, &b.name)));
        views
    }

    /// An origin's move went on, or what it says of its Migrations changed: those that are open look at it.
    pub fn origin_moved(&self, origin: &OriginKey) {
        let inner = self.lock();
        let keys = inner.by_origin.get(origin).into_iter().flatten();
        let concerned: Vec<ObjectKey> =
            keys.filter(|key| inner.entries.get(key).is_some_and(Entry::is_open)).cloned().collect();
        drop(inner);
        self.enqueue_each(concerned);
    }

    /// Whether another Migration makes the copy that this one is to leave, and goes first.
    pub fn makes_for(&self, known: &Known) -> bool {
        let inner = self.lock();
        let of_its_name = inner.by_copy.get(&known.from.key).into_iter().flatten();
        let mut entries = of_its_name.filter_map(|key| inner.entries.get(key));
        entries.any(|entry| entry.known.makes_for(entry.about.origin().is_some(), known))
    }

    /// A related object in a provider changed.
    pub fn related_moved(&self, interest: &Interest) {
        let concerned = self.lock().interests.get(interest).cloned().unwrap_or_default();
        self.enqueue_each(concerned);
    }

    /// A copy of this name changed in some provider.
    pub fn copy_moved(&self, copy: &ObjectKey) {
        let inner = self.lock();
        let keys = inner.by_copy.get(copy).into_iter().flatten();
        let concerned: Vec<ObjectKey> =
            keys.filter(|key| inner.entries.get(key).is_some_and(Entry::is_open)).cloned().collect();
        drop(inner);
        self.enqueue_each(concerned);
    }

    /// A stage object with this id changed.
    pub fn stage_moved(&self, id: &str) {
        let concerned = self.lock().by_id.get(id).cloned().unwrap_or_default();
        self.enqueue_each(concerned);
    }

    /// All that are open are looked at.
    pub fn enqueue_open(&self) {
        let open = self.lock().open.clone();
        self.enqueue_each(open);
    }

    /// Something has changed at a provider, or at a consumer: those that are open and have to do with it are looked at.
    pub fn cluster_moved(&self, cluster: &ClusterName) {
        let concerned = self.lock().open_at.get(cluster).cloned().unwrap_or_default();
        self.enqueue_each(concerned);
    }

    /// All are looked at.
    pub fn enqueue_all(&self) {
        let all: Vec<ObjectKey> = self.lock().entries.keys().cloned().collect();
        self.enqueue_each(all);
    }
}

impl Entry {
    fn is_open(&self) -> bool {
        self.known.is_open()
    }
}

/// The word for a state in metrics.
pub fn word(state: MigrationState) -> &'static str {
    match state {
        MigrationState::Unknown => "Unknown",
        MigrationState::Pending => "Pending",
        MigrationState::InitialInProgress => "InitialInProgress",
        MigrationState::InitialCompleted => "InitialCompleted",
        MigrationState::CutoverInProgress => "CutoverInProgress",
        MigrationState::CutoverCompleted => "CutoverCompleted",
        MigrationState::Failed => "Failed",
    }
}

fn count(state: MigrationState, by: i64) {
    METRICS.migrations.get_or_create(&StateLabels { state: word(state) }).inc_by(by);
}

#[cfg(test)]
#[path = "registry/tests.rs"]
pub(crate) mod tests;
