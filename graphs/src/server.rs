//! What probes and metrics say.

use std::time::Duration;

use graphs_core::instance::State;
use runtime_fleet::cluster::ClusterState;
use runtime_process::serve::Probed;

use crate::{
    graphs::Graphs,
    metrics::{METRICS, QueueLabels, StateLabels},
};

/// Work that takes longer than this means that the process hangs: every call has a deadline far below.
const HUNG: Duration = Duration::from_mins(2);

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
        let stats = [self.definitions.queue().stats(), self.instances.queue().stats()];
        let longest = stats.iter().map(|stats| stats.longest_running).max().unwrap_or_default();
        if longest > HUNG {
            return Err(format!("work has been under way for {} s", longest.as_secs()));
        }
        Ok(())
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
        let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        let queues = [("definitions", self.definitions.queue().stats()), ("instances", self.instances.queue().stats())];
        for (name, stats) in queues {
            let queue = QueueLabels { name };
            METRICS.queue_depth.get_or_create(&queue).set(gauge(stats.depth));
            METRICS.longest_running.get_or_create(&queue).set(stats.longest_running.as_secs_f64());
            for (counter, total) in [(&METRICS.queue_adds, stats.adds), (&METRICS.queue_retries, stats.retries)] {
                let counter = counter.get_or_create(&queue);
                counter.inc_by(total.saturating_sub(counter.get()));
            }
        }
        METRICS.instances.clear();
        for (state, count) in self.instances.records.states() {
            METRICS.instances.get_or_create(&StateLabels { state: word(state) }).set(gauge(count));
        }
        METRICS.held.set(gauge(self.fleet().budget().shares().iter().map(|(_, held, _)| held).sum()));
        METRICS.leader.set(i64::from(self.engine.leads()));
        METRICS.encode().ok()
    }
}
