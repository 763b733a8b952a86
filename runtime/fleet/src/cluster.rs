//! `Cluster`: what is seen of one cluster in one role. It may come, go and come back at any time.
//!
//! How it is reached is its [`Server`]'s matter. Its watches are in [`crate::watched`].

pub(crate) mod state;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use broker_api::ClusterName;
use kube::core::GroupVersionKind;
use tokio::time::Instant;

pub use self::state::{Cause, ClusterState, Labels};
use crate::{
    audience::Audience as _,
    budget::Share,
    hashed::HashMap,
    index::{Change, Doubt, Index, Source},
    kind::{KindState, SchemaNews},
    listener::Observer,
    object::{Object, ObjectKey},
    served::Served,
    server::{Connection, Server},
    tasks::Tasks,
    watch::spec::WatchSpec,
    watched::Watched,
};

/// One cluster in one role.
pub struct Cluster {
    name: ClusterName,
    labels: RwLock<Option<Labels>>,
    server: Arc<Server>,
    /// Below which path its server serves it. Empty for an API server that is one cluster, as all are today.
    pub(crate) path: String,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) share: Arc<Share>,
    pub(crate) watches: RwLock<HashMap<Arc<WatchSpec>, Watched>>,
    engaged: Instant,
    pub(crate) tasks: Tasks,
}

impl Cluster {
    /// A cluster that its server knows of.
    pub(crate) fn new(
        name: ClusterName,
        labels: Option<Labels>,
        server: Arc<Server>,
        observer: Arc<dyn Observer>,
        share: Arc<Share>,
    ) -> Arc<Self> {
        let cluster = Arc::new(Self {
            name,
            labels: RwLock::new(labels),
            server,
            path: String::new(),
            observer,
            share,
            watches: RwLock::default(),
            engaged: Instant::now(),
            tasks: Tasks::default(),
        });
        cluster.server.serve(&cluster);
        cluster
    }

    /// Its name.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    /// Its labels; `None`: they cannot be read.
    pub fn labels(&self) -> Option<Labels> {
        self.labels.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it labels. Whether they are others than before.
    pub(crate) fn set_labels(&self, labels: Option<Labels>) -> bool {
        let mut held = self.labels.write().unwrap_or_else(PoisonError::into_inner);
        let changed = *held != labels;
        *held = labels;
        changed
    }

    /// Where it is served.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// How long ago it was engaged.
    pub fn age(&self) -> Duration {
        self.engaged.elapsed()
    }

    /// How it stands.
    pub fn state(&self) -> ClusterState {
        if self.tasks.are_ending() { ClusterState::Leaving } else { self.server.state() }
    }

    /// Whether requests go through, as far as is known.
    pub fn is_ready(&self) -> bool {
        !self.tasks.are_ending() && self.server.is_ready()
    }

    /// The connection, if the cluster is ready.
    pub fn connection(&self) -> Option<Arc<Connection>> {
        if self.tasks.are_ending() {
            return None;
        }
        Some(self.server.connection()?.within(&self.path))
    }

    /// What is known of a kind here.
    pub fn kind(&self, gvk: &GroupVersionKind) -> KindState {
        self.server.kinds.state(gvk)
    }

    /// Whether anything of a kind is watched here: then what is known of the kind is told.
    pub fn watches(&self, gvk: &GroupVersionKind) -> bool {
        !self.indexes_of(gvk).is_empty()
    }

    /// The index of a watch, if it is wanted here.
    pub fn index(&self, spec: &WatchSpec) -> Option<Arc<Index>> {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        watches.get(spec).map(|watched| Arc::clone(&watched.index))
    }

    /// All indexes, in the order in which somebody asked for them: who is told of something first is not chance.
    pub fn indexes(&self) -> Vec<Arc<Index>> {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<&Watched> = watches.values().collect();
        all.sort_unstable_by_key(|watched| watched.first());
        all.into_iter().map(|watched| Arc::clone(&watched.index)).collect()
    }

    /// Puts a write's or read's answer into the indexes that would have seen it, so that the next decision knows it.
    pub fn learn(&self, spec: &WatchSpec, key: ObjectKey, object: Object) -> Option<Change> {
        let index = self.index(spec)?;
        let change = index.upsert(key, object, Source::Response);
        index.relieve();
        self.tell_server(&index, change.as_ref());
        change
    }

    /// Puts the body of an object that was read into the index that holds none. Where it has changed since it was seen,
    /// all who listen hear of that now; see [`Index::fill`].
    pub fn fill(&self, spec: &WatchSpec, key: &ObjectKey, object: Object) {
        let Some(index) = self.index(spec) else { return };
        let change = index.fill(key, object);
        index.relieve();
        self.tell_server(&index, change.as_ref());
        if let Some(change) = change {
            self.changed(&index, &change, false);
        }
    }

    /// What an answer says of its CRDs the server's own stream tells nobody any more.
    fn tell_server(&self, index: &Arc<Index>, change: Option<&Change>) {
        if let Some(change) = change.filter(|_| self.is_of_server(index)) {
            self.server.kinds.crd_changed(&change.key, false);
        }
    }

    /// Takes in that the API server says that an object is gone; see [`Index::forget`].
    pub fn forget(&self, spec: &WatchSpec, key: &ObjectKey, uid: &str) -> Option<Change> {
        let index = self.index(spec)?;
        let change = index.forget(key, uid);
        self.tell_server(&index, change.as_ref());
        change
    }

    fn indexes_of(&self, gvk: &GroupVersionKind) -> Vec<Arc<Index>> {
        let mut indexes = self.indexes();
        indexes.retain(|index| index.spec().gvk == *gvk);
        indexes
    }

    /// Ends all that is done for it. The state is `Leaving` from now on.
    pub(crate) async fn leave(&self) {
        self.tasks.cancel();
        self.observer.cluster(&self.name, &ClusterState::Leaving);
        self.tasks.end().await;
        self.server.release(&self.name).await;
    }
}

impl Served for Cluster {
    fn name(&self) -> &ClusterName {
        &self.name
    }

    fn tell_state(&self) {
        // Who leaves is not told to have come back.
        if !self.tasks.are_ending() {
            self.observer.cluster(&self.name, &self.state());
        }
    }

    fn mark_incomplete(&self, gvk: &GroupVersionKind) {
        self.indexes_of(gvk).iter().for_each(|index| index.mark_incomplete());
    }

    fn doubt(&self, why: Doubt) {
        for index in self.indexes() {
            index.doubt(why);
            self.incomplete(&index);
        }
    }

    fn tell_kind(&self, gvk: &GroupVersionKind, state: &KindState, schema: SchemaNews<'_>) {
        let indexes = self.indexes_of(gvk);
        // Another cluster's, or its watch has just ended.
        if indexes.is_empty() || self.tasks.are_ending() {
            return;
        }
        self.observer.kind(&self.name, gvk, state, schema);
        for index in indexes {
            for listener in &*self.listeners(index.spec()) {
                listener.kind(&self.name, gvk, state);
            }
        }
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
