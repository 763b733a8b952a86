//! `Index`: what one watch has seen of one kind in one cluster.
//!
//! It is *incomplete* until the first list is done; an incomplete index answers `Unknown`, never `Absent`.
//! Responses to our own writes go in at once, so that a decision never acts on what it has itself already changed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use broker_api::ClusterName;
use tokio::time::Instant;

use crate::{
    budget::{Share, cost},
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

/// What an index knows of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// There is such an object.
    Found(Arc<Object>),
    /// There is none.
    Absent,
    /// The index cannot tell: its first list is not done, or its kind is not served.
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

#[derive(Default)]
struct State {
    objects: HashMap<ObjectKey, Arc<Object>>,
    /// How many objects each namespace holds. The keys are shared by the objects' keys.
    namespaces: HashMap<Arc<str>, usize>,
    complete: bool,
    /// Newest resource version that the watch has delivered, bookmarks included: all changes up to it are in.
    progress: u64,
    /// While a list takes the place of what is held: what was learned from answers since it began to.
    learned: Option<Vec<ObjectKey>>,
}

/// The objects of one watch.
pub struct Index {
    cluster: ClusterName,
    spec: Arc<WatchSpec>,
    share: Arc<Share>,
    /// Whether decisions read bodies that are not held: then they may be dropped.
    may_drop: bool,
    state: RwLock<State>,
    /// When the API server last said anything on this watch.
    heard: Mutex<Option<Instant>>,
    /// Why the watch does not work, if it does not.
    trouble: Mutex<Option<String>>,
}

impl Index {
    /// An empty, incomplete index whose objects are charged to `share`. `may_drop`: bodies may be dropped for want of memory.
    pub fn new(cluster: ClusterName, spec: Arc<WatchSpec>, share: Arc<Share>, may_drop: bool) -> Self {
        Self {
            cluster,
            spec,
            share,
            may_drop,
            state: RwLock::default(),
            heard: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// Whether bodies may be dropped.
    pub(crate) fn may_drop(&self) -> bool {
        self.may_drop
    }

    /// Whose memory it takes.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Drops bodies where too much is held; see [`Share::relieve`]. Not to be called while the index is read or written.
    pub(crate) fn relieve(&self) {
        self.share.relieve();
    }

    /// Tells the size of each body that is held.
    pub(crate) fn each_body(&self, mut tell: impl FnMut(&ObjectKey, usize)) {
        let state = self.read();
        for (key, object) in state.objects.iter().filter(|(_, object)| object.has_body()) {
            tell(key, object.size());
        }
    }

    /// Drops one body.
    pub(crate) fn drop_body(&self, key: &ObjectKey) {
        let mut state = self.write();
        let Some(held) = state.objects.get_mut(key) else { return };
        let size = held.size();
        let bare = Arc::new(held.bare());
        let dropped = std::mem::replace(held, bare);
        drop(state);
        self.share.release(size);
        drop(dropped);
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
        self.write().complete = false;
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

    /// A live read of an object whose body was not kept. Nothing happens where the index has moved on.
    pub fn fill(&self, key: &ObjectKey, object: Object) {
        let mut state = self.write();
        if let Some(held) = state.objects.get_mut(key)
            && held.uid == object.uid
            && held.resource_version <= object.resource_version
        {
            self.exchange(key, Some(held), Some(&object));
            *held = Arc::new(object);
        }
    }

    /// The API server says that the object with this uid is gone. The watch will say so, too; until then nobody should
    /// act on it.
    pub fn forget(&self, key: &ObjectKey, uid: &str) -> Option<Change> {
        let mut state = self.write();
        if state.objects.get(key).is_none_or(|held| *held.uid != *uid) {
            return None;
        }
        let (key, old) = state.take(key)?;
        self.exchange(&key, Some(&old), None);
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
        self.exchange(&key, Some(&old), None);
        Some(Change { key, old: Some(old), new: None })
    }

    /// A bookmark: the watch has seen everything up to this version.
    pub fn bookmark(&self, resource_version: u64) {
        let mut state = self.write();
        state.progress = state.progress.max(resource_version);
    }

    /// A finished list at `resource_version`. Returns what changed, also the deletes that no event told of.
    ///
    /// Lists may be long, so the new state is made beside the old one and then takes its place. Only the watch itself
    /// calls this: what comes in meanwhile are answers to our own requests, which are carried over.
    pub fn replace(&self, listed: Vec<(ObjectKey, Object)>, resource_version: u64) -> Vec<Change> {
        let (before, restored) = {
            let mut state = self.write();
            state.learned = Some(Vec::new());
            // Versions only run backwards where etcd was restored from a backup: then the list alone is true.
            (state.objects.clone(), resource_version < state.progress)
        };
        let mut new = State { complete: true, progress: resource_version, ..State::default() };
        let mut changes = Vec::new();
        new.objects.reserve(listed.len());
        for (key, object) in listed {
            let old = before.get(&key);
            let same = old.is_some_and(|old| old.resource_version == object.resource_version && old.uid == object.uid);
            let newer = |held: &&Arc<Object>| !restored && held.resource_version > object.resource_version;
            let held = match old.filter(|old| newer(old) || same && (old.has_body() || !object.has_body())) {
                // What we hold already need not be held anew.
                Some(old) => Arc::clone(old),
                None => Arc::new(object),
            };
            let known = old.is_some_and(|old| same || Arc::ptr_eq(old, &held));
            let key = new.insert(key, Arc::clone(&held));
            if !known {
                changes.push(Change { key, old: old.cloned(), new: Some(held) });
            }
        }
        for (key, old) in &before {
            if new.objects.contains_key(key) {
                continue;
            }
            if !restored && old.resource_version > resource_version {
                new.insert(key.clone(), Arc::clone(old));
            } else {
                changes.push(Change { key: key.clone(), old: Some(Arc::clone(old)), new: None });
            }
        }
        let mut state = self.write();
        for key in state.learned.take().unwrap_or_default() {
            let held = state.objects.get(&key).filter(|held| {
                let listed = new.objects.get(&key).map_or(resource_version, |listed| listed.resource_version);
                !restored && held.resource_version > listed
            });
            if let Some(held) = held.cloned() {
                new.insert(key.clone(), held);
                changes.retain(|change| change.key != key);
            }
        }
        self.share.charge(new.cost());
        let old = std::mem::replace(&mut *state, new);
        drop(state);
        self.share.release(old.cost());
        changes
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.share.release(state.cost());
    }
}

impl State {
    /// What all its objects are charged.
    fn cost(&self) -> usize {
        self.objects.iter().map(|(key, object)| cost(key, object)).sum()
    }

    fn learn(&mut self, key: &ObjectKey) {
        if let Some(learned) = &mut self.learned {
            learned.push(key.clone());
        }
    }

    /// Puts an object in and returns its key as it is held.
    fn insert(&mut self, key: ObjectKey, object: Arc<Object>) -> ObjectKey {
        let known = self.namespaces.get_key_value(&key.namespace).map(|(known, _)| Arc::clone(known));
        let key = ObjectKey { namespace: known.unwrap_or(key.namespace), name: key.name };
        if self.objects.insert(key.clone(), object).is_none() {
            *self.namespaces.entry(Arc::clone(&key.namespace)).or_default() += 1;
        }
        key
    }

    fn take(&mut self, key: &ObjectKey) -> Option<(ObjectKey, Arc<Object>)> {
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

/// Where a newer object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An event of the watch.
    Watch,
    /// The response to one of our own writes or reads.
    Response,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use kube::core::GroupVersionKind;

    fn index() -> Index {
        let spec = WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let cluster = ClusterName::consumer("c");
        let share = Budget::new(1 << 20).engage(&cluster);
        Index::new(cluster, Arc::new(spec), share, true)
    }

    fn object(version: u64) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
        Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap().1
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("n", name)
    }

    #[test]
    fn what_is_held_is_not_taken_in_again_and_the_watch_has_passed_it() {
        let index = index();
        assert!(!index.knows(&key("a"), 4), "nothing is held");
        assert!(index.upsert(key("a"), object(5), Source::Response).is_some());
        assert!(index.knows(&key("a"), 5) && index.knows(&key("a"), 4) && !index.knows(&key("a"), 6));
        assert!(!index.knows(&key("b"), 5), "another object");
        assert!(index.upsert(key("b"), object(5), Source::Response).is_none(), "the watch has passed this version");
    }

    #[test]
    fn absence_is_unknown_until_the_first_list() {
        let index = index();
        assert_eq!(index.get(&key("a")), Lookup::Unknown);
        assert!(index.replace(vec![], 1).is_empty());
        assert_eq!(index.get(&key("a")), Lookup::Absent);
        index.mark_incomplete();
        assert_eq!(index.get(&key("a")), Lookup::Unknown);
    }

    #[test]
    fn a_relist_yields_the_deletes_that_the_watch_missed() {
        let index = index();
        index.replace(vec![(key("a"), object(1)), (key("b"), object(2))], 2);
        let changes = index.replace(vec![(key("b"), object(2))], 5);
        assert_eq!(changes.len(), 1);
        assert!(changes[0].key == key("a") && changes[0].new.is_none());
    }

    #[test]
    fn a_relist_keeps_what_was_written_after_it() {
        let index = index();
        index.replace(vec![], 2);
        assert!(index.upsert(key("a"), object(9), Source::Response).is_some());
        assert!(index.replace(vec![], 5).is_empty());
        assert!(index.get(&key("a")).found().is_some());
    }

    #[test]
    fn a_restored_etcd_counts_although_versions_run_backwards() {
        let index = index();
        index.replace(vec![(key("a"), object(50))], 60);
        let changes = index.replace(vec![(key("a"), object(7))], 10);
        assert_eq!(changes.len(), 1);
        assert_eq!(index.get(&key("a")).found().unwrap().resource_version, 7);
    }

    #[test]
    fn an_older_answer_never_replaces_a_newer_one() {
        let index = index();
        index.replace(vec![], 1);
        assert!(index.upsert(key("a"), object(5), Source::Response).is_some());
        assert!(index.upsert(key("a"), object(4), Source::Watch).is_none());
        assert!(index.upsert(key("a"), object(5), Source::Watch).is_none());
        assert!(index.remove(&key("a"), 4).is_none());
        assert!(index.remove(&key("a"), 6).is_some());
        // The response of a write that the watch has already overtaken does not bring the object back.
        assert!(index.upsert(key("a"), object(5), Source::Response).is_none());
        assert_eq!(index.get(&key("a")), Lookup::Absent);
    }
}
