//! What probes and metrics say.

use broker_api::{
    Role,
    graphs::{keys, rollout::ClusterCounts},
};
use graphs_core::instance::State;
use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    lock::lock,
    queue::QueueStats,
};
use runtime_process::{
    metrics::{self, gauge},
    serve::{Probed, hung},
};

use crate::{
    graphs::Graphs,
    metrics::{ClusterLabels, DistributionLabels, METRICS, StateLabels},
    rollouts::Record,
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

/// Why nothing goes to a cluster now, as a line.
fn trouble(cluster: &Cluster) -> Option<String> {
    match cluster.state() {
        ClusterState::Ready => None,
        ClusterState::Unreachable { why, .. } => Some(format!("{} is unreachable: {why}\n", cluster.name())),
        state => Some(format!("{} is {}\n", cluster.name(), state.as_str())),
    }
}

impl Probed for Graphs {
    fn health(&self) -> Result<(), String> {
        hung(self.queues().map(|(_, stats)| stats))
    }

    /// Ready when RGDs, revisions and CRDs are known, and which spokes there are. What is amiss with one of these keeps nobody
    /// from serving the others.
    fn ready(&self) -> Result<String, String> {
        let Some(cluster) = self.engaged(&self.hub) else { return Err(format!("{} is not engaged\n", self.hub)) };
        if let Some(why) = trouble(&cluster) {
            return Err(why);
        }
        let fixed = [&self.fixed.definitions, &self.fixed.revisions, &self.fixed.generated, &self.fixed.crds];
        let secrets = self.fixed.secrets.iter().filter(|_| self.options.enable_multicluster);
        let waiting = fixed.into_iter().chain(secrets).filter_map(|spec| {
            let index = cluster.index(spec)?;
            let why = index.trouble().unwrap_or_else(|| "the first list is not done".into());
            (!index.is_complete()).then(|| format!("{}: {why}\n", spec.gvk.kind))
        });
        let waiting: String = waiting.collect();
        if !waiting.is_empty() {
            return Err(waiting);
        }
        Ok(self.fleet().in_role(Role::Spoke).iter().filter_map(|spoke| trouble(spoke)).collect())
    }

    fn metrics(&self) -> Option<String> {
        metrics::METRICS.queues(self.queues());
        metrics::METRICS.leads(keys::LEASE, self.engine.leads());
        METRICS.instances.clear();
        for (state, count) in self.instances.states() {
            METRICS.instances.get_or_create(&StateLabels { state: word(state) }).set(gauge(count));
        }
        METRICS.held.set(gauge(self.fleet().budget().shares().iter().map(|(_, held, _)| held).sum()));
        if self.options.enable_multicluster {
            self.spoke_metrics();
        }
        metrics::encode(&METRICS.registry)
    }
}

impl Graphs {
    /// The queues of all machines by their names.
    fn queues(&self) -> [(&'static str, QueueStats); 5] {
        [
            ("definitions", self.definitions.queue().stats()),
            ("instances", self.instances.queue().stats()),
            ("clusters", self.clusters.queue().stats()),
            ("rollouts", self.rollouts.queue().stats()),
            ("spokes", self.spokes.queue().stats()),
        ]
    }

    fn spoke_metrics(&self) {
        METRICS.distribution.clear();
        for (rgd, record) in self.rollouts.all() {
            let Record { counts, serves_hub: Some(_), .. } = *lock(&record) else { continue };
            let ClusterCounts { total, updated, updating, failed, unreachable, conflicted } = counts;
            let states = [
                ("waiting", total.saturating_sub(updated + updating + failed + unreachable)),
                ("updated", updated),
                ("updating", updating),
                ("failed", failed),
                ("unreachable", unreachable),
                ("conflicted", conflicted),
            ];
            for (state, count) in states {
                let labels = DistributionLabels { rgd: rgd.name.to_string(), state };
                METRICS.distribution.get_or_create(&labels).set(count.into());
            }
        }
        METRICS.cluster_up.clear();
        METRICS.cluster_silence.clear();
        for spoke in self.fleet().in_role(Role::Spoke) {
            let labels = ClusterLabels { cluster: spoke.name().to_string() };
            METRICS.cluster_up.get_or_create(&labels).set(i64::from(spoke.is_ready()));
            if let Some(silence) = spoke.indexes().iter().filter_map(|index| index.silence()).min() {
                METRICS.cluster_silence.get_or_create(&labels).set(silence.as_secs_f64());
            }
        }
    }
}
