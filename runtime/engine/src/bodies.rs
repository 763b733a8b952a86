//! `Bodies`: objects whose body the indexes do not hold, read for the decision that is about to be made.
//!
//! Where memory is tight, indexes hold some objects by key, uid and version only. Who decides reads them first; until then
//! they are unknown, never absent. What was read is held here for a moment, so that it cannot go again in between.

mod provide;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use broker_api::ClusterName;
use runtime_fleet::{
    cluster::Cluster,
    hashed::HashMap,
    index::Index,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

/// How long a body is held at the most.
const HELD: Duration = Duration::from_secs(30);

/// What is held of one cluster at the most: bytes, and objects.
const MOST_BYTES: usize = 16 << 20;
const MOST_OBJECTS: usize = 256;

/// For how long a cluster that did not answer is not waited for again.
const REST: Duration = Duration::from_secs(10);

/// What decisions hold of large objects all together, in KiB: parsed trees take many times what indexes hold.
const ROOM: u32 = 128 << 10;

/// How many trees a decision makes of one: what is seen, what is wanted, what is sent.
const TREES: usize = 3;

/// Objects that take less together are decided on without asking for room, in KiB.
const SMALL: u32 = 1 << 10;

/// Objects that take less together are little to look at, in bytes: most take a twentieth of it.
const LITTLE: usize = 64 << 10;

struct Read {
    spec: Arc<WatchSpec>,
    key: ObjectKey,
    object: Arc<Object>,
    at: Instant,
    /// [`Bodies::puts`] with it.
    number: u64,
}

/// Bodies that were read, and room for decisions on large objects.
pub struct Bodies {
    read: Mutex<HashMap<ClusterName, VecDeque<Read>>>,
    /// How many were put, ever. Changed under that lock.
    puts: AtomicU64,
    resting: Mutex<HashMap<ClusterName, Instant>>,
    room: Semaphore,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            read: Mutex::default(),
            puts: AtomicU64::default(),
            resting: Mutex::default(),
            room: Semaphore::new(ROOM as usize),
        }
    }
}

impl Bodies {
    /// The object with its body, where it was read, is not older than `stub`, which the index holds, and looks like that still.
    pub fn get(&self, index: &Index, key: &ObjectKey, stub: &Object) -> Option<Arc<Object>> {
        self.held((index.cluster(), index.spec()), key, stub, index.edition_since())
    }

    /// What was read before `since` does not count.
    fn held(
        &self,
        (cluster, spec): (&ClusterName, &WatchSpec),
        key: &ObjectKey,
        stub: &Object,
        since: Option<Instant>,
    ) -> Option<Arc<Object>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read.get(cluster)?.iter().rev().find(|read| read.key == *key && *read.spec == *spec)?;
        let is_current = since.is_none_or(|since| found.at >= since);
        let fits = found.object.uid == stub.uid && found.object.resource_version >= stub.resource_version;
        (fits && is_current).then(|| Arc::clone(&found.object))
    }

    /// How many objects were put here so far. Whoever looks from now on finds all of those.
    pub(crate) fn puts(&self) -> u64 {
        self.puts.load(Ordering::Acquire)
    }

    /// Whether an object was put here after so many others.
    pub(crate) fn was_put(&self, cluster: &ClusterName, spec: &WatchSpec, key: &ObjectKey, puts: u64) -> bool {
        if self.puts() == puts {
            return false;
        }
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newer = read.get(cluster).into_iter().flatten().rev().take_while(|read| read.number > puts);
        newer.any(|read| read.key == *key && *read.spec == *spec)
    }

    /// Holds an object for a while. `at`: when it was asked for.
    pub fn put(&self, cluster: &ClusterName, spec: &Arc<WatchSpec>, key: &ObjectKey, object: Object, at: Instant) {
        let mut all = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, read| {
            read.retain(|read| read.at.elapsed() < HELD);
            !read.is_empty()
        });
        let read = all.entry(cluster.clone()).or_default();
        read.retain(|read| !(read.key == *key && *read.spec == **spec));
        let (key, spec) = (key.clone(), Arc::clone(spec));
        let number = self.puts.fetch_add(1, Ordering::Release) + 1;
        read.push_back(Read { spec, key, object: Arc::new(object), at, number });
        let bytes = |read: &VecDeque<Read>| read.iter().map(|read| read.object.size()).sum::<usize>();
        while read.len() > MOST_OBJECTS || read.len() > 1 && bytes(read) > MOST_BYTES {
            read.pop_front();
        }
    }

    fn rests(&self, cluster: &ClusterName) -> bool {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.get(cluster).is_some_and(|since| since.elapsed() < REST)
    }

    fn rest(&self, cluster: &ClusterName) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|_, since| since.elapsed() < REST);
        resting.insert(cluster.clone(), Instant::now());
    }
}

/// Room that a decision on large objects takes, given back when it is dropped.
pub(crate) type Room<'a> = Option<SemaphorePermit<'a>>;

/// What a decision needs before it can be made: room, where what it looks at is large, and bodies that no index holds.
#[derive(Default)]
pub struct Needs {
    /// Bytes that the objects' trees take.
    weight: usize,
    /// What is to be read.
    bodies: Vec<(Arc<Cluster>, Arc<WatchSpec>, ObjectKey)>,
}

impl Needs {
    /// The decision looks at this object, if there is one.
    pub fn look(&mut self, bodies: &Bodies, cluster: Arc<Cluster>, spec: &Arc<WatchSpec>, key: &ObjectKey) {
        let Some(index) = cluster.index(spec) else { return };
        let Some(stub) = index.get(key).found() else { return };
        self.weight += stub.weight as usize;
        if !stub.has_body() && bodies.get(&index, key, &stub).is_none() {
            self.bodies.push((cluster, Arc::clone(spec), key.clone()));
        }
    }

    /// Whether it needs nothing, as nearly all do.
    pub fn nothing(&self) -> bool {
        self.room() == 0 && self.bodies.is_empty()
    }

    /// Whether it looks at so little that this takes no time worth mentioning.
    pub(crate) fn is_little(&self) -> bool {
        self.bodies.is_empty() && self.weight <= LITTLE
    }

    /// Whether bodies are to be read.
    pub fn reads(&self) -> bool {
        !self.bodies.is_empty()
    }

    /// KiB that its trees take; 0 where that is little.
    fn room(&self) -> u32 {
        let room = u32::try_from(self.weight * TREES / 1024).unwrap_or(u32::MAX);
        // Whoever needs more than there is gets all of it, alone.
        if room < SMALL { 0 } else { room.min(ROOM) }
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::{GroupVersionKind, conventions::Conventions};

    use super::*;

    static PLAIN: Conventions = Conventions {
        program: "",
        manager: "us",
        words: b"",
        prefix: "",
        role: "",
        roles: &[],
        apart: &[],
        identified: &[],
        reads_core_schemas: false,
    };

    fn object(version: u64) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
        Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1
    }

    #[test]
    fn what_takes_no_time_is_little() {
        let needs = |weight| Needs { weight, bodies: Vec::new() };
        assert!(needs(LITTLE).is_little() && !needs(LITTLE + 1).is_little());
    }

    #[test]
    fn what_was_read_counts_until_there_is_something_newer() {
        let bodies = Bodies::default();
        let cluster = ClusterName::consumer("c");
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap")));
        let (place, key) = ((&cluster, &*spec), |name: &str| ObjectKey::new("n", name));
        let mut stub = object(5);
        stub.forget_body();
        assert!(bodies.held(place, &key("a"), &stub, None).is_none());
        let before = Instant::now();
        bodies.put(&cluster, &spec, &key("a"), object(5), Instant::now());
        assert!(bodies.held(place, &key("a"), &stub, None).is_some_and(|read| read.has_body()));
        assert!(bodies.held(place, &key("a"), &stub, Some(before)).is_some());
        let later = Instant::now() + Duration::from_secs(1);
        assert!(bodies.held(place, &key("a"), &stub, Some(later)).is_none(), "it may look otherwise now");
        let mut newer = object(6);
        newer.forget_body();
        assert!(bodies.held(place, &key("a"), &newer, None).is_none());
        assert!(bodies.held((&ClusterName::consumer("d"), &spec), &key("a"), &stub, None).is_none());
        assert!(bodies.was_put(&cluster, &spec, &key("a"), 0) && !bodies.was_put(&cluster, &spec, &key("b"), 0));
        assert!(!bodies.was_put(&cluster, &spec, &key("a"), bodies.puts()));
        for at in 0..MOST_OBJECTS {
            bodies.put(&cluster, &spec, &key(&format!("b{at}")), object(5), Instant::now());
        }
        assert!(bodies.held(place, &key("a"), &stub, None).is_none(), "the oldest goes");
    }
}
