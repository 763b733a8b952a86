//! Clusters: which API server each spoke is, written on its Secret.

pub mod machine;

use std::{
    collections::BTreeMap,
    ops::Deref,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use broker_api::ClusterName;
use runtime_effect::{
    memory::{Memory, Sole},
    note::Note,
};
use runtime_engine::records::Records;
use runtime_fleet::{lock::lock, source::Provenance};

/// Watches of Secrets: by their role, and by their label.
const LISTS: usize = 2;

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

/// Spokes that are configured, those of them to look at, and what is remembered of them.
#[derive(Default)]
pub struct Clusters {
    records: Records<ClusterName, Record>,
    /// Those of which the kubeconfig cannot be used, and that are engaged with no other.
    rejected: Mutex<BTreeMap<ClusterName, Provenance>>,
    /// Of which watches all is taken in: a bit each.
    lists: AtomicUsize,
}

impl Deref for Clusters {
    type Target = Records<ClusterName, Record>;

    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

impl Clusters {
    /// This is the Secret of a spoke.
    pub fn configured(&self, cluster: &ClusterName, from: &Provenance, uid: Box<str>) {
        let is_known = self.with(cluster, |record| record.from == *from && record.uid == uid) == Some(true);
        if !is_known {
            let record = Record { memory: Memory::default(), told: None, from: from.clone(), uid };
            self.set(cluster.clone(), record);
        }
        self.enqueue(cluster.clone());
    }

    /// The kubeconfig of a spoke cannot be used.
    pub fn reject(&self, cluster: &ClusterName, from: &Provenance) {
        lock(&self.rejected).insert(cluster.clone(), from.clone());
    }

    /// It can be used again, or is there no more.
    pub fn accept(&self, cluster: &ClusterName) {
        lock(&self.rejected).remove(cluster);
    }

    /// Spokes of which the kubeconfig cannot be used, and where that is.
    pub fn rejected(&self) -> BTreeMap<ClusterName, Provenance> {
        lock(&self.rejected).clone()
    }

    /// All that this watch of Secrets sees was taken in. What is written on them is known (again).
    pub fn listed(&self, watch: usize) {
        self.lists.fetch_or(1 << watch, Ordering::Release);
        self.records.keys(|_| true).into_iter().for_each(|cluster| self.enqueue(cluster));
    }

    /// What this watch of Secrets sees is not known any more: there may be spokes that were never told of.
    pub fn lost(&self, watch: usize) {
        self.lists.fetch_and(!(1 << watch), Ordering::Release);
    }

    /// Whether all spokes that are configured have been told of.
    pub fn are_known(&self) -> bool {
        self.lists.load(Ordering::Acquire) == (1 << LISTS) - 1
    }

    /// A spoke is configured no more. Returns the uid of its Secret.
    pub fn removed(&self, cluster: &ClusterName) -> Option<Box<str>> {
        let record = self.forget(cluster)?;
        let record = lock(&record);
        Some(record.uid.clone())
    }
}
