//! `Known`: what is known of an API server's kinds, and what tells that they may have changed.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker_api::ClusterName;
use kube::core::GroupVersionKind;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    failures::Failures,
    wanted::{Listed, News, Reading, Wanted},
};
use crate::{
    budget::Share,
    definition::{self, Edition},
    index::{Index, Lookup},
    kind::{KindInfo, KindState, well_known},
    lock::lock,
    object::ObjectKey,
    watch::spec::WatchSpec,
};

/// See the module.
pub(crate) struct Known {
    kinds: Mutex<Wanted>,
    changes: watch::Sender<u64>,
    /// There is something to ask for.
    pub(crate) asked: Notify,
    /// The server's CRDs, by their metadata. They are watched from the first kind on that may come from one, or when somebody
    /// asks for the same, and for good.
    pub(crate) crds: Arc<Index>,
    crds_watched: AtomicBool,
    /// They have all been seen once.
    crds_seen: AtomicBool,
    pub(crate) failures: Failures,
}

impl Known {
    /// Nothing is wanted yet. The CRDs of the server are charged to `share`.
    pub(crate) fn new(server: &ClusterName, share: &Arc<Share>) -> Self {
        let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let spec = WatchSpec::all(crd).without_bodies().without_schema();
        let crds = Arc::new(Index::new(server.clone(), Arc::new(spec), Arc::clone(share)));
        share.add(&crds);
        Self {
            kinds: Mutex::default(),
            changes: watch::Sender::new(0),
            asked: Notify::new(),
            crds,
            crds_watched: AtomicBool::new(false),
            crds_seen: AtomicBool::new(false),
            failures: Failures::default(),
        }
    }

    /// A watch begins. True: from now on CRDs are to be watched.
    pub(crate) fn want(&self, spec: &WatchSpec) -> bool {
        lock(&self.kinds).add(&spec.gvk, spec.schema);
        self.asked.notify_one();
        let is_crds = *spec == **self.crds.spec();
        (is_crds || well_known(&spec.gvk).is_none()) && !self.crds_watched.swap(true, Ordering::Relaxed)
    }

    /// A watch has ended.
    pub(crate) fn unwant(&self, spec: &WatchSpec) {
        if lock(&self.kinds).remove(&spec.gvk, spec.schema) {
            self.failures.note(&spec.gvk, None);
        }
    }

    /// What is known of a kind.
    pub(crate) fn state(&self, gvk: &GroupVersionKind) -> KindState {
        well_known(gvk)
            .map(|info| KindState::Found(Arc::new(info)))
            .or_else(|| lock(&self.kinds).state(gvk).cloned())
            .unwrap_or_default()
    }

    /// Tells whenever a kind may be served, or defined, in another way than before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Those who wait for a kind look again.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// All CRDs have been seen. What is news of them from now on is news of their kinds, also where all are listed again.
    pub(crate) fn crds_completed(&self) {
        self.crds_seen.store(true, Ordering::Relaxed);
        self.changed();
    }

    /// A CRD came, changed or went. `first`: it was there when the watch began.
    pub(crate) fn crd_changed(&self, key: &ObjectKey, first: bool) {
        let first = first && !self.crds_seen.load(Ordering::Relaxed);
        lock(&self.kinds).definition_changed(&key.name, first, Instant::now());
        self.asked.notify_one();
        if !first {
            self.changed();
        }
    }

    /// What is known of a kind does not fit what the server says.
    pub(crate) fn doubt(&self, gvk: &GroupVersionKind) {
        lock(&self.kinds).doubt(gvk, Instant::now());
        self.asked.notify_one();
    }

    /// Something could not be had of this kind: its group and version is asked for again.
    pub(crate) fn ask_again(&self, gvk: &GroupVersionKind) {
        lock(&self.kinds).look_again(gvk, Instant::now());
    }

    /// Takes in what discovery says.
    pub(crate) fn take(&self, gvk: &GroupVersionKind, state: &KindState, reading: &Reading) -> Option<News> {
        lock(&self.kinds).take(gvk, state, reading, Instant::now())
    }

    /// Kinds to ask for now, those of one group and version side by side. `polls`: also those that are not served, as far as
    /// is known.
    pub(crate) fn due(&self, polls: bool) -> Vec<GroupVersionKind> {
        lock(&self.kinds).due(polls, |kind| self.definition_of(kind), Instant::now())
    }

    /// When there will be more to ask.
    pub(crate) fn next(&self) -> Option<Duration> {
        lock(&self.kinds).next(Instant::now())
    }

    /// Whether a kind that is wanted is not served.
    pub(crate) fn misses(&self) -> bool {
        lock(&self.kinds).misses()
    }

    /// What the watch on CRDs says of the one that defines a kind.
    pub(crate) fn definition_of(&self, kind: &KindInfo) -> Listed {
        match self.crd_of(kind) {
            Lookup::Found(crd) => Listed::Version(Edition::of(&crd).edition),
            Lookup::Absent => Listed::Absent,
            Lookup::Unknown => Listed::Unknown,
        }
    }

    /// Which edition of the CRD that defines a kind the watch on CRDs has seen last; `None`: nobody can tell, or there is no CRD.
    pub(crate) fn edition_of(&self, kind: &KindInfo) -> Option<Edition> {
        self.crd_of(kind).found().map(|crd| Edition::of(&crd))
    }

    fn crd_of(&self, kind: &KindInfo) -> Lookup {
        self.crds.get(&ObjectKey::new("", definition::name_of(kind)))
    }

    /// Whether the watch on CRDs has seen one of this group.
    pub(crate) fn defines_any_of(&self, group: &str) -> bool {
        self.crds.has_any(|key| key.name.split_once('.').is_some_and(|(_, of)| of == group))
    }

    /// Whether anybody asks for the schema of a kind.
    pub(crate) fn asks_for_schema(&self, gvk: &GroupVersionKind) -> bool {
        lock(&self.kinds).asks_for_schema(gvk)
    }

    /// Whether a kind has not been found yet, or its schema not been looked for.
    pub(crate) fn is_new(&self, gvk: &GroupVersionKind) -> bool {
        lock(&self.kinds).is_new(gvk)
    }

    /// Whether the schema of a kind that is served is to be read now.
    pub(crate) fn wants_schema(&self, gvk: &GroupVersionKind, listed: Listed) -> bool {
        lock(&self.kinds).wants_schema(gvk, listed, Instant::now())
    }
}
