//! Clusters: which API server each spoke is, written on its Secret.

pub mod machine;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use broker_api::ClusterName;
use runtime_effect::{
    memory::{Memory, Sole},
    note::Note,
};
use runtime_fleet::{
    lock::lock,
    queue::{Key, Queue},
    source::Provenance,
};

/// Watches of Secrets: by their role, and by their label.
const LISTS: usize = 2;

/// A spoke.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClusterKey(pub ClusterName);

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Key for ClusterKey {
    fn lane(&self) -> &ClusterName {
        &self.0
    }
}

/// What is remembered of a spoke.
pub struct Record {
    /// Of writes to its Secret.
    pub memory: Memory<Sole>,
    /// What people were told last.
    pub told: Option<Note>,
    /// Its Secret.
    pub from: Provenance,
    /// uid of that.
    pub uid: Box<str>,
}

/// Spokes that are configured, and those of them to look at.
#[derive(Default)]
pub struct Clusters {
    queue: Arc<Queue<ClusterKey>>,
    all: Mutex<HashMap<ClusterName, Arc<Mutex<Record>>>>,
    /// Those of which the kubeconfig cannot be used, and that are engaged with no other.
    rejected: Mutex<BTreeSet<ClusterName>>,
    /// Of which watches the first list was taken in to its end: a bit each.
    lists: AtomicUsize,
}

impl Clusters {
    /// Those to look at.
    pub fn queue(&self) -> &Arc<Queue<ClusterKey>> {
        &self.queue
    }

    /// Looks at one.
    pub fn enqueue(&self, cluster: &ClusterName) {
        self.queue().add(ClusterKey(cluster.clone()));
    }

    /// What is remembered of one.
    pub fn get(&self, cluster: &ClusterName) -> Option<Arc<Mutex<Record>>> {
        lock(&self.all).get(cluster).cloned()
    }

    /// This is the Secret of a spoke.
    pub fn configured(&self, cluster: &ClusterName, from: &Provenance, uid: Box<str>) {
        let mut all = lock(&self.all);
        let is_it = |record: &Record| record.from == *from && record.uid == uid;
        let is_known = all.get(cluster).is_some_and(|record| is_it(&lock(record)));
        if !is_known {
            let record = Record { memory: Memory::default(), told: None, from: from.clone(), uid };
            all.insert(cluster.clone(), Arc::new(Mutex::new(record)));
        }
        drop(all);
        self.enqueue(cluster);
    }

    /// The kubeconfig of a spoke cannot be used, or can again.
    pub fn reject(&self, cluster: &ClusterName, is_rejected: bool) {
        let mut rejected = lock(&self.rejected);
        if is_rejected {
            rejected.insert(cluster.clone());
        } else {
            rejected.remove(cluster);
        }
    }

    /// Spokes of which the kubeconfig cannot be used.
    pub fn rejected(&self) -> Vec<ClusterName> {
        lock(&self.rejected).iter().cloned().collect()
    }

    /// The first list of this watch of Secrets was taken in to its end.
    pub fn listed(&self, watch: usize) {
        self.lists.fetch_or(1 << watch, Ordering::Release);
    }

    /// Whether all spokes that are configured have been told of.
    pub fn are_known(&self) -> bool {
        self.lists.load(Ordering::Acquire) == (1 << LISTS) - 1
    }

    /// A spoke is configured no more. Returns the uid of its Secret.
    pub fn removed(&self, cluster: &ClusterName) -> Option<Box<str>> {
        let record = lock(&self.all).remove(cluster)?;
        let record = lock(&record);
        Some(record.uid.clone())
    }
}
