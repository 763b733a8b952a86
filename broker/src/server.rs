//! `/healthz`, `/readyz` and `/metrics`.

use std::time::Duration;

use broker_api::condition;
use broker_core::decision;
use runtime_fleet::{cluster::ClusterState, lag::Lag};
use runtime_process::serve::Probed;

use crate::{
    broker::Broker,
    metrics::{ClusterLabels, ConsumerLabels, HolderLabels, METRICS, QueueLabels, StateLabels, WatchLabels},
};

/// Work that takes longer than this means that the process hangs: every call has a deadline far below.
const HUNG: Duration = Duration::from_mins(2);

impl Probed for Broker {
    fn health(&self) -> Result<(), String> {
        let longest = self.queue.stats().longest_running.max(self.migrations.queue.stats().longest_running);
        if longest > HUNG {
            return Err(format!("work has been under way for {} s", longest.as_secs()));
        }
        Ok(())
    }

    fn ready(&self) -> Result<String, String> {
        readiness(self)
    }

    fn metrics(&self) -> Option<String> {
        collect(self);
        METRICS.encode().ok()
    }
}

/// Ready when the watches that exist are complete. Clusters that cannot be reached, or do not tell what they should, are
/// named but do not count: no tenant's API server keeps the others from being served.
fn readiness(broker: &Broker) -> Result<String, String> {
    let mut waiting = Vec::new();
    let mut notes = Vec::new();
    if broker.ring.load().is_none() {
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
        for index in cluster.indexes().iter().filter(|index| !index.is_complete()) {
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

/// What is counted when it is asked for.
fn collect(broker: &Broker) {
    let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    let queues = [("origins", broker.queue.stats()), ("migrations", broker.migrations.queue.stats())];
    for (name, stats) in queues {
        let queue = QueueLabels { name };
        METRICS.queue_depth.get_or_create(&queue).set(gauge(stats.depth));
        METRICS.longest_running.get_or_create(&queue).set(stats.longest_running.as_secs_f64());
        for (counter, total) in [(&METRICS.queue_adds, stats.adds), (&METRICS.queue_retries, stats.retries)] {
            let counter = counter.get_or_create(&queue);
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }
    METRICS.leader.get_or_create(&QueueLabels { name: "resource-broker" }).set(i64::from(broker.leads()));
    for state in decision::State::ALL {
        METRICS.objects.get_or_create(&StateLabels { state: state.as_str() }).set(broker.records.in_state(state));
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
            let labels = WatchLabels { cluster: cluster.name().to_string(), kind: index.spec().gvk.kind.clone() };
            let silence = index.silence().unwrap_or_else(|| cluster.age());
            METRICS.staleness.get_or_create(&labels).set(silence.as_secs_f64());
        }
    }
}
