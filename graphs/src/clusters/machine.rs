//! `ClusterMachine`: spokes.

use std::sync::Arc;

use broker_api::{ClusterName, graphs::keys};
use runtime_effect::{
    kind::Kind,
    memory::{Memory, Sole},
    merge::digest,
    note::Note,
    write::{Op, Write},
};
use runtime_engine::{
    engine::Engine,
    machine::{Machine, Occasion, Plan, Refusal},
};
use runtime_fleet::{
    cluster::{Cause, ClusterState},
    lock::lock,
    queue::{Outcome, Queue},
    source::Provenance,
    watch::WatchSpec,
};
use serde_json::json;

use crate::graphs::Graphs;

/// See [`Machine`].
pub struct ClusterMachine {
    graphs: Arc<Graphs>,
}

/// What people are told of a spoke.
fn note(key: &ClusterName, state: &ClusterState) -> Option<Note> {
    match state {
        ClusterState::Ready => Some(Note::normal("ClusterEngaged", format!("{key} is engaged"))),
        ClusterState::Unreachable { cause, why, .. } => Some(match cause {
            Cause::Lost => Note::warning("ClusterUnreachable", format!("{key} is unreachable: {why}")),
            Cause::IdentityChanged => {
                let remedy = format!("if that is meant, remove the annotation {} from this Secret", keys::CLUSTER_UID);
                Note::warning("IdentityChanged", format!("{why}; {remedy}"))
            }
            Cause::Duplicate => Note::warning("DuplicateCluster", why.clone()),
        }),
        ClusterState::Connecting | ClusterState::Leaving => None,
    }
}

impl ClusterMachine {
    /// Of the process.
    pub fn new(graphs: Arc<Graphs>) -> Arc<Self> {
        Arc::new(Self { graphs })
    }

    /// The write that says on a Secret which API server the spoke is.
    fn identify(&self, from: &Provenance, uid: &str) -> Option<Write<Sole>> {
        let key = from.secret()?;
        let secret = self.graphs.spoke_secret(&key)?;
        if secret.marks().annotations.contains_key(keys::CLUSTER_UID) {
            return None;
        }
        Some(Write {
            cluster: self.graphs.hub.clone(),
            kind: Kind::core("Secret"),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            intent: digest(&json!([&*secret.uid, uid])),
            op: Op::Merge(secret.version().guard(json!({"metadata": {"annotations": {keys::CLUSTER_UID: uid}}}))),
            subject: Sole,
            notes: Vec::new(),
        })
    }
}

impl Machine for ClusterMachine {
    type Key = ClusterName;
    type Subject = Sole;

    fn engine(&self) -> &Arc<Engine> {
        &self.graphs.engine
    }

    fn queue(&self) -> &Arc<Queue<ClusterName>> {
        self.graphs.clusters.queue()
    }

    fn decide(&self, key: &ClusterName, _occasion: &Occasion) -> Result<Plan<Sole>, Outcome> {
        let (Some(cluster), Some(record)) = (self.graphs.engaged(key), self.graphs.clusters.get(key)) else {
            return Err(Outcome::Done);
        };
        let state = cluster.state();
        let mut record = lock(&record);
        if let Some(note) = note(key, &state).filter(|note| record.told.as_ref() != Some(note)) {
            self.graphs.tell_of_secret(&record.from, &note);
            record.told = Some(note);
        }
        let uid = cluster.server().identity().filter(|_| state == ClusterState::Ready);
        let write = uid.and_then(|uid| self.identify(&record.from, &uid)).ok_or(Outcome::Done)?;
        Plan::paced([write], &record.memory)
    }

    fn remember<T>(&self, key: &ClusterName, change: impl FnOnce(&mut Memory<Sole>) -> T) -> Option<T> {
        self.graphs.clusters.with(key, |record| change(&mut record.memory))
    }

    fn sees(&self, key: &ClusterName, _write: &Write<Sole>) -> Option<Arc<WatchSpec>> {
        let object = self.graphs.clusters.with(key, |record| record.from.secret())??;
        let hub = self.graphs.engaged(&self.graphs.hub)?;
        let sees = |spec: &&Arc<WatchSpec>| hub.index(spec).is_some_and(|index| index.get(&object).found().is_some());
        self.graphs.fixed.secrets.iter().find(sees).cloned()
    }

    fn refused(&self, key: &ClusterName, _write: &Write<Sole>, refusal: &Refusal) {
        if let Some(from) = self.graphs.clusters.with(key, |record| record.from.clone()) {
            self.graphs.tell_of_secret(&from, &Note::warning(refusal.reason, refusal.message.clone()));
        }
    }
}
