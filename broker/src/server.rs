//! `/healthz`, `/readyz` and `/metrics`.

use std::time::Duration;

use broker_api::condition;
use broker_core::decision;
use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    index::Index,
    kind::KindState,
    lag::Lag,
};
use runtime_process::{
    metrics::{self, gauge},
    serve::{Probed, hung},
};

use crate::{
    broker::Broker,
    metrics::{ClusterLabels, ConsumerLabels, HolderLabels, METRICS, StateLabels, WatchLabels},
};

impl Probed for Broker {
    fn health(&self) -> Result<(), String> {
        hung([self.origins.queue.stats(), self.migrations.queue.stats()])
    }

    fn ready(&self) -> Result<String, String> {
        readiness(self)
    }

    fn metrics(&self) -> Option<String> {
        collect(self);
        metrics::encode(&METRICS.registry)
    }
}

/// Ready when the watches that exist are complete. Clusters that cannot be reached, or do not tell what they should, are
/// named but do not count: no tenant's API server keeps the others from being served.
fn readiness(broker: &Broker) -> Result<String, String> {
    let mut waiting = Vec::new();
    let mut notes = Vec::new();
    if broker.signing.ring.load().is_none() {
        waiting.push(broker.signing.trouble());
    }
    for cluster in broker.fleet().clusters() {
        match cluster.state() {
            ClusterState::Ready => {}
            ClusterState::Unreachable { why, .. } => {
                notes.push(format!("{} is unreachable: {why}", cluster.name()));
                continue;
            }
            state => {
                let lines = if cluster.is_coming() { &mut waiting } else { &mut notes };
                lines.push(format!("{} is {}", cluster.name(), state.as_str()));
                continue;
            }
        }
        for index in cluster.indexes().iter().filter(|index| !index.is_complete() && cluster.is_awaited(index)) {
            let kind = &index.spec().gvk.kind;
            match cluster.lag(index) {
                Lag::Lagging(why) => notes.push(format!("{} {kind}: {why}", cluster.name())),
                Lag::Known => notes.push(format!("{} does not serve {kind}", cluster.name())),
                Lag::Coming => waiting.push(format!("{} {kind}: the first list is not done", cluster.name())),
            }
        }
    }
    for (consumer, count) in broker.brake.held() {
        notes.push(format!("{consumer}: {count} copies have lost their origins all at once and are kept; see condition {} of the AcceptAPIs", condition::DELETIONS_HELD));
    }
    let text = waiting.iter().chain(&notes).fold(String::new(), |text, line| text + line + "\n");
    if waiting.is_empty() { Ok(text) } else { Err(text) }
}

/// How long ago a watch was heard of. `None`: nothing is to be heard, for the kind is not served; nothing was ever heard, for
/// which the cluster lags; or nothing waits for it.
fn silence(cluster: &Cluster, index: &Index) -> Option<Duration> {
    let heard = index.silence()?;
    let is_served = cluster.kind(&index.spec().gvk) != KindState::Missing;
    (is_served && cluster.is_awaited(index)).then_some(heard)
}

/// What is counted when it is asked for.
fn collect(broker: &Broker) {
    metrics::METRICS
        .queues([("origins", broker.origins.queue.stats()), ("migrations", broker.migrations.queue.stats())]);
    metrics::METRICS.leads(&broker.options.lease_name, broker.leads());
    for state in decision::State::ALL {
        METRICS
            .objects
            .get_or_create(&StateLabels { state: state.as_str() })
            .set(broker.origins.records.in_state(state));
    }
    METRICS.deletions_held.clear();
    for (consumer, count) in broker.brake.held() {
        METRICS.deletions_held.get_or_create(&ConsumerLabels { consumer: consumer.to_string() }).set(gauge(count));
    }
    METRICS.clusters.clear();
    METRICS.staleness.clear();
    METRICS.held.clear();
    METRICS.dropped.clear();
    let budget = broker.fleet().budget();
    METRICS.memory_budget.set(gauge(budget.limit()));
    for (cluster, held, dropped) in budget.shares() {
        let labels = HolderLabels { cluster: cluster.to_string() };
        METRICS.held.get_or_create(&labels).set(gauge(held));
        METRICS.dropped.get_or_create(&labels).set(gauge(dropped));
    }
    for cluster in broker.fleet().clusters() {
        let state = if cluster.is_lagging() { "Lagging" } else { cluster.state().as_str() };
        let labels = ClusterLabels { role: cluster.name().role().as_str(), state };
        METRICS.clusters.get_or_create(&labels).inc();
        for index in cluster.indexes() {
            let Some(silence) = silence(&cluster, &index) else { continue };
            let labels = WatchLabels { cluster: cluster.name().to_string(), kind: index.spec().gvk.kind.clone() };
            let staleness = METRICS.staleness.get_or_create(&labels);
            // There may be several of one kind, as of Secrets in some namespaces: the quietest counts.
            staleness.set(staleness.get().max(silence.as_secs_f64()));
        }
    }
}
