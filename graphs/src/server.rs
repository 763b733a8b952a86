//! What probes and metrics say.

use broker_api::graphs::keys;
use graphs_core::instance::State;
use runtime_fleet::cluster::ClusterState;
use runtime_process::{
    metrics::{self, gauge},
    serve::{Probed, hung},
};

use crate::{
    graphs::Graphs,
    metrics::{METRICS, StateLabels},
};

fn word(state: State) -> &'static str {
    match state {
        State::Unknown => "Unknown",
        State::Gone => "Gone",
        State::Unserved => "Unserved",
        State::Active => "Active",
        State::InProgress => "InProgress",
        State::Error => "Error",
        State::Suspended => "Suspended",
        State::Deleting => "Deleting",
    }
}

impl Probed for Graphs {
    fn health(&self) -> Result<(), String> {
        hung([self.definitions.queue().stats(), self.instances.queue().stats()])
    }

    /// Ready when RGDs, revisions and CRDs are known.
    fn ready(&self) -> Result<String, String> {
        let Some(cluster) = self.engaged(&self.hub) else { return Err(format!("{} is not engaged\n", self.hub)) };
        match cluster.state() {
            ClusterState::Ready => {}
            ClusterState::Unreachable { why, .. } => return Err(format!("{} is unreachable: {why}\n", self.hub)),
            state => return Err(format!("{} is {}\n", self.hub, state.as_str())),
        }
        let fixed = [&self.fixed.definitions, &self.fixed.revisions, &self.fixed.generated, &self.fixed.crds];
        let waiting = fixed.into_iter().filter_map(|spec| {
            let index = cluster.index(spec)?;
            let why = index.trouble().unwrap_or_else(|| "the first list is not done".into());
            (!index.is_complete()).then(|| format!("{}: {why}\n", spec.gvk.kind))
        });
        let waiting: String = waiting.collect();
        if waiting.is_empty() { Ok(String::new()) } else { Err(waiting) }
    }

    fn metrics(&self) -> Option<String> {
        let queues = [("definitions", self.definitions.queue().stats()), ("instances", self.instances.queue().stats())];
        metrics::METRICS.queues(queues);
        metrics::METRICS.leads(keys::LEASE, self.engine.leads());
        METRICS.instances.clear();
        for (state, count) in self.instances.records.states() {
            METRICS.instances.get_or_create(&StateLabels { state: word(state) }).set(gauge(count));
        }
        METRICS.held.set(gauge(self.fleet().budget().shares().iter().map(|(_, held, _)| held).sum()));
        metrics::encode(&METRICS.registry)
    }
}
