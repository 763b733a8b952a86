//! `Kept`: what the page shows of the objects of a kind in the coordination cluster. They are watched for it and for nothing
//! else, and each is read once for each of its versions, when somebody looks.

use std::sync::{Arc, Mutex};

use broker_api::Role;
use runtime_fleet::{
    GroupVersionKind,
    hashed::HashMap,
    index::{Change, Index, Lookup},
    listener::{ClusterSelector, Listener},
    lock::lock,
    object::{Object, ObjectKey},
    subscription::Subscription,
    watch::WatchSpec,
};
use serde_json::Value;

use super::{sight::Sight, tone::Tone};
use crate::broker::Broker;

/// What is shown of an object of a kind without namespaces.
pub(super) trait Shown: Send + Sync + Sized + 'static {
    /// The kind.
    const KIND: ShownKind;

    /// Reads one. Anybody may have written anything into it.
    fn of(name: &str, object: &Value) -> Self;

    /// One whose content is not there to be read, and why.
    fn unread(name: &str, why: String) -> Self;

    /// The same with no more than a list shows.
    #[must_use]
    fn brief(self) -> Self;

    /// Its name.
    fn name(&self) -> &str;

    /// How it stands with it.
    fn tone(&self) -> Tone;
}

/// A kind that is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownKind {
    /// Its group.
    pub(super) group: &'static str,
    /// Its name, in version `v1alpha1`.
    pub(super) kind: &'static str,
    /// In sentences.
    pub(super) plural: &'static str,
    /// As RBAC has it.
    pub(super) resource: &'static str,
    /// How many a list has at the most.
    pub(super) most: usize,
}

/// Objects of a kind, those that need a look first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed<R> {
    /// Some of them.
    pub(super) rows: Vec<Arc<R>>,
    /// How many there are.
    pub(super) total: usize,
    /// How many of these are as they should be.
    pub(super) good: usize,
}

impl<R: Shown> Listed<R> {
    /// Of all there are.
    pub(super) fn new(mut rows: Vec<Arc<R>>) -> Self {
        let (total, good) = (rows.len(), rows.iter().filter(|row| row.tone() == Tone::Good).count());
        let key = |row: &Arc<R>| (urgency(row.tone()), row.name().to_owned());
        rows.sort_by_cached_key(key);
        rows.truncate(R::KIND.most);
        Self { rows, total, good }
    }
}

/// At most so many of those that are such, by name, and whether there are more.
fn some<R: Shown>(mut rows: Vec<Arc<R>>, most: usize, is_such: impl Fn(&R) -> bool) -> (Vec<Arc<R>>, bool) {
    rows.retain(|row| is_such(row));
    rows.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    let more = rows.len() > most;
    rows.truncate(most);
    (rows, more)
}

/// What needs a look comes first.
fn urgency(tone: Tone) -> u8 {
    match tone {
        Tone::Bad => 0,
        Tone::Busy => 1,
        Tone::Plain => 2,
        Tone::Good => 3,
    }
}

/// Has the watch run, and needs nothing of what it tells.
struct Watcher;

impl Listener for Watcher {
    // A page without it says so.
    fn is_awaited(&self) -> bool {
        false
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, _index: &Index, _change: &Change) {}
}

/// One version of an object, read.
struct Read<R> {
    uid: Box<str>,
    version: u64,
    /// Its content was there.
    whole: bool,
    row: Arc<R>,
}

impl<R: Shown> Read<R> {
    fn of(key: &ObjectKey, object: &Object) -> Self {
        Self {
            uid: object.uid.clone(),
            version: object.resource_version,
            whole: object.has_body(),
            row: Arc::new(read::<R>(key, object).brief()),
        }
    }

    /// Whether nothing else would be read now. What was dropped for want of memory since is as it was.
    fn is_of(&self, object: &Object) -> bool {
        self.uid == object.uid && self.version == object.resource_version && (self.whole || !object.has_body())
    }
}

fn read<R: Shown>(key: &ObjectKey, object: &Object) -> R {
    if !object.has_body() {
        return R::unread(&key.name, "its content is not held for want of memory".to_owned());
    }
    match object.value() {
        Ok(value) => R::of(&key.name, &value),
        Err(error) => R::unread(&key.name, format!("it cannot be read: {error}")),
    }
}

/// See the module.
pub(super) struct Kept<R> {
    spec: Arc<WatchSpec>,
    read: Mutex<HashMap<ObjectKey, Read<R>>>,
    /// The watch runs as long as this is held.
    _watch: Subscription,
}

impl<R: Shown> Kept<R> {
    /// From now on.
    pub(super) fn watch(broker: &Broker) -> Self {
        let ShownKind { group, kind, .. } = R::KIND;
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk(group, "v1alpha1", kind)).without_schema());
        let hub = ClusterSelector::Role(Role::Coordination);
        let watch = broker.fleet().listen(&hub, &spec, &Arc::new(Watcher));
        Self { spec, read: Mutex::default(), _watch: watch }
    }

    /// All of them, as of now.
    pub(super) fn list(&self, broker: &Broker) -> Sight<Listed<R>> {
        Sight::of(broker, &self.spec).map(|index| Some(Listed::new(self.rows(index.snapshot()))))
    }

    /// At most so many of those that are such, by name, and whether there are more.
    pub(super) fn some(
        &self,
        broker: &Broker,
        most: usize,
        is_such: impl Fn(&R) -> bool,
    ) -> Sight<(Vec<Arc<R>>, bool)> {
        Sight::of(broker, &self.spec).map(|index| Some(some(self.rows(index.snapshot()), most, is_such)))
    }

    /// One of them, if there is one of this name, with all that is shown of it.
    pub(super) fn one(&self, broker: &Broker, name: &str) -> Sight<Option<R>> {
        let key = ObjectKey::new("", name);
        Sight::of(broker, &self.spec).map(|index| match index.get(&key) {
            Lookup::Found(object) => Some(Some(read(&key, &object))),
            Lookup::Absent => Some(None),
            Lookup::Unknown => None,
        })
    }

    /// Reads what is new, and forgets what is gone.
    fn rows(&self, objects: Vec<(ObjectKey, Arc<Object>)>) -> Vec<Arc<R>> {
        let mut held = lock(&self.read);
        let mut before = std::mem::take(&mut *held);
        let mut rows = Vec::with_capacity(objects.len());
        for (key, object) in objects {
            let known = before.remove(&key).filter(|read| read.is_of(&object));
            let read = known.unwrap_or_else(|| Read::of(&key, &object));
            rows.push(Arc::clone(&read.row));
            held.insert(key, read);
        }
        rows
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
