//! `Bodies`: objects whose body the indexes do not hold, read for the decision that is about to be made.
//!
//! Where memory is tight, indexes hold some objects by key, uid and version only. Who decides reads them first; until then
//! they are unknown, never absent. What was read is held here for a moment, so that it cannot go again in between.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, Role};
use broker_core::{copy, snapshot::OriginKey};
use futures::future::join_all;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    cluster::Cluster,
    object::{Object, ObjectKey},
    watch::WatchSpec,
    write::Writer,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};
use tracing::debug;

use crate::broker::Broker;

/// How long a body is held at the most.
const HELD: Duration = Duration::from_secs(30);

/// What is held of one cluster at the most: bytes, and objects.
const MOST_BYTES: usize = 16 << 20;
const MOST_OBJECTS: usize = 256;

/// How long decisions wait for the body of a copy. A provider that does not answer must not hold up what others serve:
/// what it holds stays unknown.
const PATIENCE: Duration = Duration::from_secs(1);

/// For how long a cluster that did not answer is not waited for again.
const REST: Duration = Duration::from_secs(10);

/// What decisions hold of large objects all together, in KiB: parsed trees take many times what indexes hold.
const ROOM: u32 = 128 << 10;

/// How many trees a decision makes of one: what is seen, what is wanted, what is sent.
const TREES: usize = 3;

/// Objects that take less together are decided on without asking for room, in KiB.
const SMALL: u32 = 1 << 10;

struct Read {
    spec: Arc<WatchSpec>,
    key: ObjectKey,
    object: Arc<Object>,
    at: Instant,
}

/// Bodies that were read, and room for decisions on large objects.
pub struct Bodies {
    read: Mutex<HashMap<ClusterName, VecDeque<Read>>>,
    resting: Mutex<HashMap<ClusterName, Instant>>,
    room: Semaphore,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { read: Mutex::default(), resting: Mutex::default(), room: Semaphore::new(ROOM as usize) }
    }
}

impl Bodies {
    /// The object with its body, where it was read and is not older than `stub`, which the index holds.
    pub fn get(&self, cluster: &ClusterName, spec: &WatchSpec, key: &ObjectKey, stub: &Object) -> Option<Arc<Object>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read.get(cluster)?.iter().rev().find(|read| read.key == *key && *read.spec == *spec)?;
        let fits = found.object.uid == stub.uid && found.object.resource_version >= stub.resource_version;
        fits.then(|| Arc::clone(&found.object))
    }

    /// Holds an object for a while.
    pub fn put(&self, cluster: &ClusterName, spec: &Arc<WatchSpec>, key: &ObjectKey, object: Object) {
        let mut all = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, read| {
            read.retain(|read| read.at.elapsed() < HELD);
            !read.is_empty()
        });
        let read = all.entry(cluster.clone()).or_default();
        read.retain(|read| !(read.key == *key && *read.spec == **spec));
        let (key, spec) = (key.clone(), Arc::clone(spec));
        read.push_back(Read { spec, key, object: Arc::new(object), at: Instant::now() });
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

/// What a decision needs before it can be made.
#[derive(Default)]
pub struct Needs {
    /// KiB that its trees take; 0 where that is little.
    room: u32,
    /// Where bodies are to be read.
    bodies: Vec<Arc<Cluster>>,
}

impl Needs {
    /// Whether it needs nothing, as nearly all do.
    pub fn nothing(&self) -> bool {
        self.room == 0 && self.bodies.is_empty()
    }

    /// Whether bodies are to be read.
    pub fn reads(&self) -> bool {
        !self.bodies.is_empty()
    }
}

impl Broker {
    /// What the next decision on an origin needs: room, where the origin or its copies are large, and bodies of those.
    pub fn needs(&self, origin: &OriginKey) -> Needs {
        let Some(spec) = self.watches.spec_of(Role::Consumer, &origin.gvk) else { return Needs::default() };
        let copy = ObjectKey { namespace: Arc::clone(&origin.namespace), name: copy::name(origin).into() };
        let own = ObjectKey { namespace: Arc::clone(&origin.namespace), name: Arc::clone(&origin.name) };
        let mut weight = 0;
        let mut needs = Needs::default();
        let consumer = self.fleet().cluster(&origin.cluster).map(|cluster| (cluster, &own));
        let providers = self.fleet().in_role(Role::Provider).into_iter().map(|cluster| (cluster, &copy));
        for (cluster, key) in consumer.into_iter().chain(providers) {
            let Some(stub) = cluster.index(spec).and_then(|index| index.get(key).found()) else { continue };
            weight += stub.weight as usize;
            if !stub.has_body() && self.bodies.get(cluster.name(), spec, key, &stub).is_none() {
                needs.bodies.push(cluster);
            }
        }
        let room = u32::try_from(weight * TREES / 1024).unwrap_or(u32::MAX);
        // Whoever needs more than there is gets all of it, alone.
        needs.room = if room < SMALL { 0 } else { room.min(ROOM) };
        needs
    }

    /// Waits for what a decision needs. What cannot be had is unknown to it.
    pub(crate) async fn provide(&self, origin: &OriginKey, needs: Needs) -> Room<'_> {
        let room = match needs.room {
            0 => None,
            // Never closed.
            room => self.bodies.room.acquire_many(room).await.ok(),
        };
        let Some(spec) = self.watches.spec_of(Role::Consumer, &origin.gvk) else { return room };
        let name = |cluster: &Cluster| match cluster.name().role() {
            Role::Consumer => Arc::clone(&origin.name),
            _ => copy::name(origin).into(),
        };
        let reads = needs.bodies.iter().filter(|cluster| !self.bodies.rests(cluster.name())).map(async |cluster| {
            let key = ObjectKey { namespace: Arc::clone(&origin.namespace), name: name(cluster) };
            let read = tokio::time::timeout(PATIENCE, self.read_body(cluster.name(), &origin.gvk, spec, &key)).await;
            if !matches!(read, Ok(true)) {
                self.bodies.rest(cluster.name());
            }
        });
        join_all(reads).await;
        room
    }

    /// Reads one object and holds it for decisions. Returns whether its API server has answered.
    async fn read_body(&self, cluster: &ClusterName, kind: &Kind, spec: &Arc<WatchSpec>, key: &ObjectKey) -> bool {
        // One that is not reachable is waited for elsewhere.
        let Some((_, caller, info)) = self.reachable(cluster, kind) else { return true };
        match Writer::new(&caller).get(&info, key).await {
            Ok(found) => {
                if let Some(object) = found {
                    self.bodies.put(cluster, spec, key, object);
                }
                true
            }
            Err(error) => {
                debug!(%cluster, %key, %error, "an object cannot be read");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::GroupVersionKind;

    use super::*;

    fn object(version: u64) -> Object {
        let version = version.to_string();
        let metadata = serde_json::json!({"name": "a", "uid": "u", "resourceVersion": version});
        crate::conventions::object(&serde_json::json!({"metadata": metadata})).1
    }

    #[test]
    fn what_was_read_counts_until_there_is_something_newer() {
        let bodies = Bodies::default();
        let cluster = ClusterName::consumer("c");
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap")));
        let key = |name: &str| ObjectKey::new("n", name);
        let mut stub = object(5);
        stub.forget_body();
        assert!(bodies.get(&cluster, &spec, &key("a"), &stub).is_none());
        bodies.put(&cluster, &spec, &key("a"), object(5));
        assert!(bodies.get(&cluster, &spec, &key("a"), &stub).is_some_and(|read| read.has_body()));
        let mut newer = object(6);
        newer.forget_body();
        assert!(bodies.get(&cluster, &spec, &key("a"), &newer).is_none());
        assert!(bodies.get(&ClusterName::consumer("d"), &spec, &key("a"), &stub).is_none());
        for at in 0..MOST_OBJECTS {
            bodies.put(&cluster, &spec, &key(&format!("b{at}")), object(5));
        }
        assert!(bodies.get(&cluster, &spec, &key("a"), &stub).is_none(), "the oldest goes");
    }
}
