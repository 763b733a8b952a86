//! `Cluster`: one API server in one role, which may come, go, rotate its credentials and come back at any time.
//!
//! Three kinds of tasks serve it: one connects ([`crate::connect`]), one asks for its kinds ([`crate::kinds`]),
//! one per watch follows objects ([`crate::watch`]). They meet only here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use broker_api::ClusterName;
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    budget::Share,
    call::Caller,
    conventions::Conventions,
    index::{Change, Index, Source},
    intake::Intake,
    kind::{KindInfo, KindState},
    lag::Failures,
    object::{Object, ObjectKey},
    watch::{self as watching, WatchSpec},
};

/// How it stands with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterState {
    /// No connection yet.
    Connecting,
    /// Requests go through.
    Ready,
    /// Requests do not go through; nothing is known of what happens there.
    Unreachable {
        /// Since when.
        since: Instant,
        /// The last error.
        why: String,
    },
    /// Taken out of the configuration.
    Leaving,
}

impl ClusterState {
    /// A word for metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Ready => "Ready",
            Self::Unreachable { .. } => "Unreachable",
            Self::Leaving => "Leaving",
        }
    }
}

/// What is told of what happens in clusters. Called from the watch tasks: must be quick and must not block.
pub trait Observer: Send + Sync + 'static {
    /// Whether decisions will want to read this object. What is not kept is known by key, uid and version only.
    fn keep(&self, index: &Index, key: &ObjectKey) -> bool;
    /// Whether decisions read bodies of this watch that are not held: then they may be dropped for want of memory.
    fn reads_again(&self, cluster: &ClusterName, spec: &WatchSpec) -> bool;
    /// An object came, changed or went.
    fn changed(&self, index: &Index, change: &Change);
    /// An index has finished its first list.
    fn completed(&self, index: &Index);
    /// A kind was found (with its schema, where the server publishes one), changed its schema, or went missing.
    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, schema: Option<&Value>);
    /// A cluster changed its state.
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState);
}

/// A working client and whom it talks to.
#[derive(Debug)]
pub struct Connection {
    /// Sends requests.
    pub caller: Caller,
    /// uid of the namespace `kube-system`: the API server's identity. `None` where we may not read it.
    pub identity: Option<String>,
    /// Counts connections of one cluster.
    pub(crate) generation: u64,
}

#[derive(Debug, Clone)]
struct Link {
    state: ClusterState,
    connection: Option<Arc<Connection>>,
}

/// A CRD that changed: its schema is published some time later, so it is asked for several times.
#[derive(Debug, Clone, Copy)]
struct Refresh {
    changed: Instant,
    attempt: usize,
}

const REFRESH_AFTER: [Duration; 4] =
    [Duration::from_millis(150), Duration::from_millis(600), Duration::from_secs(2), Duration::from_secs(5)];

/// A watch that runs, and how it is ended.
struct Watched {
    index: Arc<Index>,
    unwanted: CancellationToken,
}

#[derive(Default)]
struct Kinds {
    /// Kinds that are watched.
    states: HashMap<GroupVersionKind, (KindState, Option<u64>)>,
    refresh: HashMap<GroupVersionKind, Refresh>,
}

/// One API server in one role.
pub struct Cluster {
    name: ClusterName,
    conventions: &'static Conventions,
    observer: Arc<dyn Observer>,
    share: Arc<Share>,
    pub(crate) intake: Intake,
    link: watch::Sender<Link>,
    kinds: Mutex<Kinds>,
    kinds_changed: watch::Sender<u64>,
    watches: RwLock<HashMap<Arc<WatchSpec>, Watched>>,
    throttled_until: Mutex<Option<Instant>>,
    pub(crate) suspicion: Notify,
    pub(crate) kinds_wanted: Notify,
    pub(crate) crds: Arc<WatchSpec>,
    pub(crate) failures: Failures,
    engaged: Instant,
    tasks: TaskTracker,
    leaving: CancellationToken,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    pub(crate) fn new(
        name: ClusterName,
        conventions: &'static Conventions,
        observer: Arc<dyn Observer>,
        share: Arc<Share>,
    ) -> Self {
        let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds = WatchSpec { metadata_only: true, ..WatchSpec::all(crd) };
        Self {
            name,
            conventions,
            observer,
            share,
            intake: Intake::default(),
            link: watch::Sender::new(Link { state: ClusterState::Connecting, connection: None }),
            kinds: Mutex::default(),
            kinds_changed: watch::Sender::new(0),
            watches: RwLock::default(),
            throttled_until: Mutex::default(),
            suspicion: Notify::new(),
            kinds_wanted: Notify::new(),
            crds: Arc::new(crds),
            failures: Failures::default(),
            engaged: Instant::now(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    pub(crate) fn conventions(&self) -> &'static Conventions {
        self.conventions
    }

    /// How long ago it was engaged.
    pub fn age(&self) -> Duration {
        self.engaged.elapsed()
    }

    /// How it stands.
    pub fn state(&self) -> ClusterState {
        self.link.borrow().state.clone()
    }

    /// Whether requests go through, as far as is known.
    pub fn is_ready(&self) -> bool {
        self.link.borrow().state == ClusterState::Ready
    }

    /// The connection, if the cluster is ready.
    pub fn connection(&self) -> Option<Arc<Connection>> {
        let link = self.link.borrow();
        if link.state == ClusterState::Ready { link.connection.clone() } else { None }
    }

    /// The API server's identity, as of the last connection.
    pub fn identity(&self) -> Option<String> {
        self.link.borrow().connection.as_ref()?.identity.clone()
    }

    /// What is known of a kind here.
    pub fn kind(&self, gvk: &GroupVersionKind) -> KindState {
        crate::kinds::well_known(gvk)
            .map(|info| KindState::Found(Arc::new(info)))
            .or_else(|| lock(&self.kinds).states.get(gvk).map(|(state, _)| state.clone()))
            .unwrap_or_default()
    }

    /// The index of a watch, if it is wanted here.
    pub fn index(&self, spec: &WatchSpec) -> Option<Arc<Index>> {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        watches.get(spec).map(|watched| Arc::clone(&watched.index))
    }

    /// All indexes but the cluster's own of CRDs.
    pub fn indexes(&self) -> Vec<Arc<Index>> {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        let others = watches.iter().filter(|(spec, _)| **spec != self.crds);
        others.map(|(_, watched)| Arc::clone(&watched.index)).collect()
    }

    /// Starts a watch; nothing happens where it runs already. It ends with the cluster, or with [`Cluster::unwatch`].
    pub fn watch(self: &Arc<Self>, spec: &Arc<WatchSpec>) -> Arc<Index> {
        if crate::kinds::well_known(&spec.gvk).is_none() {
            // Tells when the kind comes, changes or goes.
            self.watch(&self.crds);
        }
        let mut watches = self.watches.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = watches.get(spec) {
            return Arc::clone(&watched.index);
        }
        let again = self.observer.reads_again(&self.name, spec);
        let index = Arc::new(Index::new(self.name.clone(), Arc::clone(spec), Arc::clone(&self.share), again));
        self.share.add(&index);
        let unwanted = CancellationToken::new();
        watches.insert(Arc::clone(spec), Watched { index: Arc::clone(&index), unwanted: unwanted.clone() });
        // While the watches are held: an end of another watch of this kind must not take the kind away again.
        lock(&self.kinds).states.entry(spec.gvk.clone()).or_default();
        drop(watches);
        self.kinds_wanted.notify_one();
        let task = watching::run(Arc::clone(self), Arc::clone(&index));
        self.spawn(async move {
            tokio::select! {
                () = unwanted.cancelled() => {}
                () = task => {}
            }
        });
        index
    }

    /// Ends a watch. What it has seen is forgotten, and so is its kind where nothing else watches it; started again, it
    /// begins with a list. Its last event may still be told of.
    pub fn unwatch(&self, spec: &WatchSpec) {
        let mut watches = self.watches.write().unwrap_or_else(PoisonError::into_inner);
        let Some(ended) = watches.remove(spec) else { return };
        ended.unwanted.cancel();
        if !watches.keys().any(|other| other.gvk == spec.gvk) {
            let mut kinds = lock(&self.kinds);
            kinds.states.remove(&spec.gvk);
            kinds.refresh.remove(&spec.gvk);
            self.failures.note(&spec.gvk, None);
        }
    }

    /// Runs a task that ends when the cluster leaves.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let leaving = self.leaving.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = leaving.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Puts a write's or read's answer into the indexes that would have seen it, so that the next decision knows it.
    pub fn learn(&self, spec: &WatchSpec, key: ObjectKey, object: Object) -> Option<Change> {
        let index = self.index(spec)?;
        let change = index.upsert(key, object, Source::Response);
        index.relieve();
        change
    }

    /// Takes in that the API server says that an object is gone; see [`Index::forget`].
    pub fn forget(&self, spec: &WatchSpec, key: &ObjectKey, uid: &str) -> Option<Change> {
        self.index(spec)?.forget(key, uid)
    }

    /// After `Throttled`: no requests before this moment.
    pub fn throttle(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut held = lock(&self.throttled_until);
        *held = Some(held.map_or(until, |before| before.max(until)));
    }

    /// How long writes to this cluster have to wait because the server asked for it.
    pub fn throttled(&self) -> Option<Duration> {
        let until = (*lock(&self.throttled_until))?;
        until.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    /// A request failed in a way that may mean that the cluster is gone: it is looked at.
    pub fn suspect(&self, connection: &Connection) {
        let current = self.link.borrow().connection.as_ref().map(|held| held.generation);
        if current == Some(connection.generation) {
            self.suspicion.notify_one();
        }
    }

    pub(crate) fn keeps(&self, index: &Index, key: &ObjectKey) -> bool {
        *index.spec() != self.crds && self.observer.keep(index, key)
    }

    pub(crate) fn set_state(&self, state: &ClusterState, connection: Option<Arc<Connection>>) {
        let changed = self.link.send_if_modified(|link| {
            let same_word = link.state.as_str() == state.as_str();
            // The first moment of an outage counts, not the latest.
            let next = match (&link.state, state) {
                (ClusterState::Unreachable { since, .. }, ClusterState::Unreachable { why, .. }) => {
                    ClusterState::Unreachable { since: *since, why: why.clone() }
                }
                _ => state.clone(),
            };
            let moved = connection.is_some();
            if let Some(connection) = connection {
                link.connection = Some(connection);
            }
            link.state = next;
            moved || !same_word
        });
        if changed {
            self.observer.cluster(&self.name, &self.state());
        }
    }

    /// Waits until the cluster is ready.
    pub(crate) async fn ready(&self) -> Arc<Connection> {
        let mut link = self.link.subscribe();
        loop {
            if let Some(connection) = self.connection() {
                return connection;
            }
            if link.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until another connection has taken this one's place.
    pub(crate) fn replaced(&self, connection: &Connection) -> impl Future<Output = ()> + use<> {
        let mut link = self.link.subscribe();
        let generation = connection.generation;
        async move {
            let newer = |link: &Link| link.connection.as_ref().is_some_and(|held| held.generation != generation);
            if link.wait_for(newer).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until the cluster is ready and serves a kind.
    pub(crate) async fn serving(&self, gvk: &GroupVersionKind) -> (Arc<Connection>, Arc<KindInfo>) {
        let mut kinds = self.kinds_changed.subscribe();
        loop {
            let connection = self.ready().await;
            if let KindState::Found(info) = self.kind(gvk) {
                return (connection, info);
            }
            if kinds.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn completed(&self, index: &Index) {
        if *index.spec() != self.crds {
            self.observer.completed(index);
        }
    }

    /// `first`: it was there when the watch began.
    pub(crate) fn changed(&self, index: &Index, change: &Change, first: bool) {
        if *index.spec() == self.crds {
            self.crd_changed(&change.key, first);
        } else {
            self.observer.changed(index, change);
        }
    }

    /// CRDs are named `<plural>.<group>`: every kind of that group is looked at again. Of those that were there already,
    /// only kinds that have not been found: the others were asked for after their CRD had come.
    fn crd_changed(&self, key: &ObjectKey, first: bool) {
        let mut kinds = lock(&self.kinds);
        let Kinds { states, refresh } = &mut *kinds;
        let group = key.name.split_once('.').map_or("", |(_, group)| group);
        let concerned = |state: &KindState| !first || state.found().is_none();
        for (gvk, _) in states.iter().filter(|(gvk, (state, _))| gvk.group == group && concerned(state)) {
            refresh.insert(gvk.clone(), Refresh { changed: Instant::now(), attempt: 0 });
        }
        drop(kinds);
        self.kinds_wanted.notify_one();
    }

    /// The published schema does not fit what the server says: ask for it again.
    pub fn refresh_kind(&self, gvk: &GroupVersionKind) {
        lock(&self.kinds).refresh.insert(gvk.clone(), Refresh { changed: Instant::now(), attempt: 0 });
        self.kinds_wanted.notify_one();
    }

    pub(crate) fn kind_missing(&self, gvk: &GroupVersionKind) {
        self.set_kind(gvk, &KindState::Missing, None);
        self.refresh_kind(gvk);
    }

    /// Records what discovery says and tells of changes.
    pub(crate) fn set_kind(&self, gvk: &GroupVersionKind, state: &KindState, schema: Option<&Value>) {
        let digest = schema.map(digest);
        let mut kinds = lock(&self.kinds);
        let next = (state.clone(), digest);
        // Nobody may want the kind any more by the time of the answer.
        if kinds.states.get(gvk).is_none_or(|held| *held == next) {
            return;
        }
        kinds.states.insert(gvk.clone(), next);
        drop(kinds);
        if *state == KindState::Missing {
            for index in self.indexes().iter().filter(|index| index.spec().gvk == *gvk) {
                index.mark_incomplete();
            }
        }
        self.kinds_changed.send_modify(|count| *count += 1);
        self.observer.kind(&self.name, gvk, state, schema);
    }

    /// Kinds to ask for now, and when there will be more to ask.
    pub(crate) fn due_kinds(&self) -> (Vec<GroupVersionKind>, Option<Duration>) {
        let mut kinds = lock(&self.kinds);
        let now = Instant::now();
        let unknown = kinds.states.iter().filter(|(_, (state, _))| *state == KindState::Unknown);
        let mut due: Vec<_> = unknown.map(|(gvk, _)| gvk.clone()).collect();
        let mut next: Option<Duration> = None;
        kinds.refresh.retain(|gvk, refresh| {
            let wait = |attempt: usize| {
                REFRESH_AFTER.get(attempt).map(|after| (refresh.changed + *after).saturating_duration_since(now))
            };
            if wait(refresh.attempt).is_some_and(|wait| wait.is_zero()) {
                due.push(gvk.clone());
                refresh.attempt += 1;
            }
            let wait = wait(refresh.attempt);
            if let Some(wait) = wait {
                next = Some(next.map_or(wait, |next| next.min(wait)));
            }
            wait.is_some()
        });
        (due, next)
    }

    /// Wanted kinds that are not served here.
    pub(crate) fn missing_kinds(&self) -> Vec<GroupVersionKind> {
        let kinds = lock(&self.kinds);
        let missing = kinds.states.iter().filter(|(_, (state, _))| *state == KindState::Missing);
        missing.map(|(gvk, _)| gvk.clone()).collect()
    }

    /// Ends all tasks. The state is `Leaving` from now on.
    pub(crate) async fn leave(&self) {
        self.set_state(&ClusterState::Leaving, None);
        self.leaving.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn digest(schema: &Value) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    schema.to_string().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
