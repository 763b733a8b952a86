//! `Migrations`: what is remembered of each Migration, and those to look at.

pub mod overview;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broker_api::{ClusterName, MigrationState};
use broker_core::{
    memory::Memory,
    migration::{
        book::{Book, Taken},
        known::Known,
        moved_origin::MovedOrigin,
    },
    movement::MigrationView,
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, note::Note};
use runtime_engine::{interests::Interests, recorder::Told};
use runtime_fleet::{
    object::ObjectKey,
    queue::{InCluster, Queue},
};

use crate::metrics::{METRICS, ReasonLabels, ResultLabels, StateLabels};

/// A Migration as the queue has it, in the coordination cluster.
pub type MigrationWork = InCluster;

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

/// What is remembered of one Migration beside what decisions need.
#[derive(Debug, Default)]
struct Rest {
    interests: Vec<Interest>,
    told: Told,
    ends: Ends,
}

#[derive(Default)]
struct Inner {
    book: Book<Rest>,
    interests: Interests<ObjectKey>,
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
        if let Some(cluster) = hub {
            self.queue.add(MigrationWork { cluster, key });
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
        let Inner { book, interests } = &mut *inner;
        let state = |book: &Book<Rest>| book.get(key).map(|entry| entry.known().view.state);
        let before = state(book);
        let Taken { concerned, gone } = book.update(key, after);
        if let Some(gone) = gone {
            interests.leave(key, &gone.rest.interests);
        }
        for (state, by) in [(before, -1), (state(book), 1)] {
            if let Some(state) = state {
                METRICS.migrations.get_or_create(&StateLabels { state: word(state) }).inc_by(by);
            }
        }
        concerned
    }

    /// See [`Book::set_about`].
    pub fn set_about(&self, known: &Arc<Known>, about: MovedOrigin) -> Vec<OriginKey> {
        self.lock().book.set_about(known, about)
    }

    /// What is known of a Migration, which origin it is about, and what earlier decisions left.
    pub fn get(&self, key: &ObjectKey) -> Option<(Arc<Known>, MovedOrigin, Memory)> {
        let inner = self.lock();
        let entry = inner.book.get(key)?;
        Some((Arc::clone(entry.known()), entry.about().clone(), entry.memory.clone()))
    }

    /// Changes what is remembered of the writes of a Migration.
    pub fn remember<T>(&self, key: &ObjectKey, change: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        self.lock().book.get_mut(key).map(|entry| change(&mut entry.memory))
    }

    /// Notes that this is told of a Migration now. Its uid, if that is news.
    pub(super) fn news(&self, key: &ObjectKey, note: &Note) -> Option<Box<str>> {
        let mut inner = self.lock();
        let entry = inner.book.get_mut(key)?;
        entry.rest.told.is_news(note).then(|| entry.known().uid.clone())
    }

    /// What ends once the writes that were just decided on go through.
    pub(super) fn set_ends(&self, key: &ObjectKey, ends: Ends) {
        if let Some(entry) = self.lock().book.get_mut(key) {
            entry.rest.ends = ends;
        }
    }

    /// They went through.
    pub(super) fn take_ends(&self, key: &ObjectKey) -> Ends {
        self.lock().book.get_mut(key).map(|entry| std::mem::take(&mut entry.rest.ends)).unwrap_or_default()
    }

    /// Takes in which related objects a Migration listens to. Returns whether any is new: it may have changed meanwhile.
    pub fn listen(&self, key: &ObjectKey, now: &[Interest]) -> bool {
        let mut inner = self.lock();
        let Inner { book, interests } = &mut *inner;
        book.get_mut(key).is_some_and(|entry| interests.listen(key, &mut entry.rest.interests, now))
    }

    /// See [`Book::of`].
    pub fn of(&self, origin: &OriginKey, uid: &str) -> Vec<MigrationView> {
        self.lock().book.of(origin, uid)
    }

    /// See [`Book::makes_for`].
    pub fn makes_for(&self, known: &Known) -> bool {
        self.lock().book.makes_for(known)
    }

    /// An origin's move went on, or what it says of its Migrations changed: those that are open look at it.
    pub fn origin_moved(&self, origin: &OriginKey) {
        let concerned = self.lock().book.open_about(origin);
        self.enqueue_each(concerned);
    }

    /// A related object in a provider changed.
    pub fn related_moved(&self, interest: &Interest) {
        let concerned = self.lock().interests.of(interest);
        self.enqueue_each(concerned);
    }

    /// A copy of this name changed in some provider.
    pub fn copy_moved(&self, copy: &ObjectKey) {
        let concerned = self.lock().book.open_of_copy(copy);
        self.enqueue_each(concerned);
    }

    /// A stage object with this id changed.
    pub fn stage_moved(&self, id: &str) {
        let concerned = self.lock().book.with_id(id);
        self.enqueue_each(concerned);
    }

    /// All that are open are looked at.
    pub fn enqueue_open(&self) {
        let open = self.lock().book.open().clone();
        self.enqueue_each(open);
    }

    /// Something has changed at a provider, or at a consumer: those that are open and have to do with it are looked at.
    pub fn cluster_moved(&self, cluster: &ClusterName) {
        let concerned = self.lock().book.open_at(cluster);
        self.enqueue_each(concerned);
    }

    /// All are looked at.
    pub fn enqueue_all(&self) {
        self.enqueue_each(self.remembered());
    }

    /// All that are remembered.
    pub fn remembered(&self) -> Vec<ObjectKey> {
        self.lock().book.iter().map(|(key, _)| key.clone()).collect()
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

#[cfg(test)]
#[path = "registry/tests.rs"]
pub(crate) mod tests;
