//! `Index`: what one watch has seen of one kind in one cluster.
//!
//! It is *incomplete* until the first list is done; an incomplete index answers `Unknown`, never `Absent`.
//! Responses to our own writes go in at once, so that a decision never acts on what it has itself already changed.

mod bodies;
mod edition;
mod list;
mod state;

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use broker_api::ClusterName;
use tokio::time::Instant;

pub(crate) use self::state::Doubt;
pub use self::state::Source;
use self::state::State;
use crate::{
    budget::Share,
    census::{Census, Seat},
    cost::cost,
    object::{Object, ObjectKey},
    sorted::{Sort, Values},
    watch::spec::WatchSpec,
};

/// What an index knows of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// There is such an object.
    Found(Arc<Object>),
    /// There is none.
    Absent,
    /// The index cannot tell: its first list is not done, its kind is not served, or its API server has gone back in time, or
    /// what is held is doubted, and it is not listed again yet.
    Unknown,
}

impl Lookup {
    /// The object, if there is one.
    pub fn found(self) -> Option<Arc<Object>> {
        match self {
            Self::Found(object) => Some(object),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// One key's change: before and after.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which object.
    pub key: ObjectKey,
    /// As it was, if it was.
    pub old: Option<Arc<Object>>,
    /// As it is, if it is.
    pub new: Option<Arc<Object>>,
}

impl Change {
    /// Whether the object, which was there and is, asks for something else than before; see [`Object::asks_otherwise`].
    pub fn asks_otherwise(&self) -> bool {
        self.old.as_ref().zip(self.new.as_ref()).is_some_and(|(old, new)| new.asks_otherwise(old))
    }
}

/// The objects of one watch.
pub struct Index {
    cluster: ClusterName,
    spec: Arc<WatchSpec>,
    share: Arc<Share>,
    /// Whether decisions read bodies that are not held: then they may be dropped.
    may_drop: AtomicBool,
    /// Where it says what it holds, if anybody asks for that across clusters.
    seat: OnceLock<Seat>,
    /// How often it was said that nobody can tell what there is.
    losses: AtomicU64,
    state: RwLock<State>,
    /// When the API server last said anything on this watch.
    heard: Mutex<Option<Instant>>,
    /// Why the watch does not work, if it does not.
    trouble: Mutex<Option<String>>,
}

impl Index {
    /// An empty, incomplete index whose objects are charged to `share`. Their bodies stay.
    pub fn new(cluster: ClusterName, spec: Arc<WatchSpec>, share: Arc<Share>) -> Self {
        Self {
            cluster,
            spec,
            share,
            may_drop: AtomicBool::new(false),
            seat: OnceLock::new(),
            losses: AtomicU64::new(0),
            state: RwLock::new(State { edition_since: Some(Instant::now()), ..State::default() }),
            heard: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// Takes part in a census from now on, with what it holds. Once: it stays in the first one.
    pub fn count_in(&self, census: &Arc<Census>) {
        let state = self.write();
        if self.seat.get().is_none() {
            let seat = Arc::clone(census).join(&self.cluster);
            seat.changed(state.objects.keys(), std::iter::empty());
            // Nobody else sets it while the lock is held.
            let _ = self.seat.set(seat);
        }
    }

    /// Sorts its objects in one more way from now on, for [`Index::sorted`].
    pub(crate) fn sort(&self, sort: Sort) {
        let mut state = self.write();
        let before = state.sorted.cost();
        let State { objects, sorted, .. } = &mut *state;
        sorted.add(sort, objects.iter());
        self.share.charge(state.sorted.cost() - before);
    }

    /// The objects that were last seen under a value of a [`Sort`]: what an object without its body is under now is not
    /// known. None where nobody has asked for that sort.
    pub fn sorted(&self, name: &str, value: &str) -> Vec<ObjectKey> {
        self.read().sorted.of(name, value)
    }

    #[cfg(test)]
    pub(crate) fn read_sorted<T>(&self, read: impl FnOnce(&crate::sorted::Sorted) -> T) -> T {
        read(&self.read().sorted)
    }

    /// What an object is under. That takes long where it is large: no lock is held meanwhile.
    fn values(&self, object: &Object) -> Values {
        let sorts = self.read().sorted.sorts();
        if object.has_body() { sorts.iter().map(|sort| (sort.by)(object)).collect() } else { Values::new() }
    }

    /// Nobody uses it any more, and no census counts it: another may take its place.
    pub fn close(&self) {
        let state = self.write();
        if let Some(seat) = self.seat.get() {
            seat.leave(state.objects.keys());
        }
    }

    /// Says that an object has come or gone, while the lock is held.
    fn count(&self, key: &ObjectKey, come: bool) {
        if let Some(seat) = self.seat.get() {
            let (come, gone) = if come { (Some(key), None) } else { (None, Some(key)) };
            seat.changed(come.into_iter(), gone.into_iter());
        }
    }

    /// Whether bodies may be dropped for want of memory, from now on.
    pub(crate) fn set_may_drop(&self, may: bool) {
        self.may_drop.store(may, Ordering::Relaxed);
    }

    /// Whose memory it takes.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Drops bodies where too much is held; see [`Share::relieve`]. Not to be called while the index is read or written.
    pub(crate) fn relieve(&self) {
        self.share.relieve();
    }

    /// Which cluster it looks at.
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// What it watches.
    pub fn spec(&self) -> &Arc<WatchSpec> {
        &self.spec
    }

    // A panic while the lock is held cannot leave the map half changed: every change is one call.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a key up.
    pub fn get(&self, key: &ObjectKey) -> Lookup {
        let state = self.read();
        match state.objects.get(key) {
            // That of before need not be there, and other indexes may know already that what belongs to it is not.
            _ if state.doubt != Doubt::None => Lookup::Unknown,
            Some(object) => Lookup::Found(Arc::clone(object)),
            None if state.complete => Lookup::Absent,
            None => Lookup::Unknown,
        }
    }

    /// Whether the first list is done and the kind is still served.
    pub fn is_complete(&self) -> bool {
        self.read().complete
    }

    /// How many objects it holds.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.read().objects.is_empty()
    }

    /// All keys and objects as of now.
    pub fn snapshot(&self) -> Vec<(ObjectKey, Arc<Object>)> {
        self.read().objects.iter().map(|(key, object)| (key.clone(), Arc::clone(object))).collect()
    }

    /// The same of these keys only.
    pub fn those(&self, keys: &[ObjectKey]) -> Vec<(ObjectKey, Arc<Object>)> {
        let state = self.read();
        let held = |key: &ObjectKey| Some((key.clone(), Arc::clone(state.objects.get(key)?)));
        keys.iter().filter_map(held).collect()
    }

    /// Whether it holds an object under such a key.
    pub(crate) fn has_any(&self, is_such: impl Fn(&ObjectKey) -> bool) -> bool {
        self.read().objects.keys().any(is_such)
    }

    /// Whether it holds any object in a namespace.
    pub fn has_any_in(&self, namespace: &str) -> bool {
        self.read().namespaces.contains_key(namespace)
    }

    /// The API server said something.
    pub fn heard(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// How long ago the API server last said anything on this watch.
    pub fn silence(&self) -> Option<Duration> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).map(|heard| heard.elapsed())
    }

    /// Sets or clears why the watch does not work. Returns whether that is news.
    pub fn set_trouble(&self, trouble: Option<String>) -> bool {
        let mut held = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let news = *held != trouble;
        *held = trouble;
        news
    }

    /// Why the watch does not work, if it does not.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The kind is no longer served: what is held stays, but absence means nothing any more.
    pub fn mark_incomplete(&self) {
        let mut state = self.write();
        state.complete = false;
        self.losses.fetch_add(1, Ordering::Release);
    }

    /// How often that was said: what was listed before the last time is to be listed again.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    /// What is held counts for nothing until it is listed again. What was found worse before stays so.
    pub(crate) fn doubt(&self, why: Doubt) {
        let mut state = self.write();
        (state.complete, state.doubt) = (false, state.doubt.max(why));
        if why == Doubt::Old {
            self.losses.fetch_add(1, Ordering::Release);
        }
    }

    /// An object that was listed: what is held of it, where that is the same, so that it is in memory once.
    pub(crate) fn listed(&self, key: &ObjectKey, object: Object) -> Arc<Object> {
        let held = self.read().objects.get(key).filter(|held| ***held == object).cloned();
        held.unwrap_or_else(|| Arc::new(object))
    }

    /// The newest version that was seen of what is watched.
    pub(crate) fn progress(&self) -> u64 {
        self.read().progress
    }

    /// The watch tells of this version. Returns whether what is held is as new; then that was all there is to take in.
    pub fn knows(&self, key: &ObjectKey, version: u64) -> bool {
        let mut state = self.write();
        let known = state.objects.get(key).is_some_and(|held| held.resource_version >= version);
        if known {
            state.progress = state.progress.max(version);
        }
        known
    }

    /// A watch event or a write's response. `None` where the index already holds something newer.
    pub fn upsert(&self, key: ObjectKey, object: Object, source: Source) -> Option<Change> {
        let values = self.values(&object);
        let mut state = self.write();
        match source {
            Source::Watch => state.progress = state.progress.max(object.resource_version),
            // The watch has passed this version: what it says of the key, even its absence, is newer.
            Source::Response if object.resource_version <= state.progress => return None,
            Source::Response => {}
        }
        let old = state.objects.get(&key).cloned();
        if old.as_ref().is_some_and(|old| old.resource_version >= object.resource_version) {
            return None;
        }
        let new = Arc::new(object);
        self.exchange(&key, old.as_deref(), Some(&new));
        let key = state.insert(key, Arc::clone(&new));
        self.resort(&mut state, &key, old.as_deref(), Some((&new, values)));
        if old.is_none() {
            self.count(&key, true);
        }
        state.learn(&key);
        Some(Change { key, old, new: Some(new) })
    }

    /// Charges what comes, and no longer what goes.
    fn exchange(&self, key: &ObjectKey, old: Option<&Object>, new: Option<&Object>) {
        if let Some(new) = new {
            self.share.charge(cost(key, new));
        }
        if let Some(old) = old {
            self.share.release(cost(key, old));
        }
    }

    /// Sorts an object that came, changed or went. One under the name of another has nothing of its.
    fn resort(&self, state: &mut State, key: &ObjectKey, old: Option<&Object>, new: Option<(&Object, Values)>) {
        let before = state.sorted.cost();
        if new.as_ref().is_none_or(|(new, _)| old.is_some_and(|old| old.uid != new.uid)) {
            state.sorted.remove(key);
        }
        if let Some((new, values)) = new {
            state.sorted.put(key, new, values);
        }
        self.share.charge(state.sorted.cost());
        self.share.release(before);
    }

    /// A live read of an object whose body was not kept. Nothing happens where the index has moved on. `Some`: it is newer
    /// than what was held, and the watch will tell nobody of this version any more.
    pub fn fill(&self, key: &ObjectKey, object: Object) -> Option<Change> {
        let values = self.values(&object);
        let mut state = self.write();
        let held = state.objects.get_mut(key)?;
        if held.uid != object.uid || held.resource_version > object.resource_version {
            return None;
        }
        self.exchange(key, Some(held), Some(&object));
        let new = Arc::new(object);
        let old = std::mem::replace(held, Arc::clone(&new));
        self.resort(&mut state, key, None, Some((&new, values)));
        let news = old.resource_version < new.resource_version;
        news.then(|| Change { key: key.clone(), old: Some(old), new: Some(new) })
    }

    /// The API server says that the object with this uid is gone. The watch will say so, too; until then nobody should
    /// act on it.
    pub fn forget(&self, key: &ObjectKey, uid: &str) -> Option<Change> {
        let mut state = self.write();
        if state.objects.get(key).is_none_or(|held| *held.uid != *uid) {
            return None;
        }
        let (key, old) = state.take(key)?;
        self.count(&key, false);
        self.exchange(&key, Some(&old), None);
        self.resort(&mut state, &key, Some(&old), None);
        Some(Change { key, old: Some(old), new: None })
    }

    /// A watch's delete event, at the version of the deletion.
    pub fn remove(&self, key: &ObjectKey, resource_version: u64) -> Option<Change> {
        let mut state = self.write();
        state.progress = state.progress.max(resource_version);
        if state.objects.get(key).is_some_and(|held| held.resource_version > resource_version) {
            return None;
        }
        let (key, old) = state.take(key)?;
        self.count(&key, false);
        self.exchange(&key, Some(&old), None);
        self.resort(&mut state, &key, Some(&old), None);
        Some(Change { key, old: Some(old), new: None })
    }

    /// A bookmark: the watch has seen everything up to this version.
    pub fn bookmark(&self, resource_version: u64) {
        let mut state = self.write();
        state.progress = state.progress.max(resource_version);
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.share.release(state.cost());
        if let Some(seat) = self.seat.get() {
            seat.leave(state.objects.keys());
        }
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
