//! Prometheus metrics; names as in controller-runtime and client-go where those have one.

use std::{
    sync::{LazyLock, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use runtime_engine::meters::Meters;

/// One request to an API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// HTTP status, `<error>` where there was none.
    pub code: String,
    /// Host and port.
    pub host: String,
    /// HTTP method.
    pub method: String,
}

/// Host and method.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LatencyLabels {
    /// Host and port.
    pub host: String,
    /// HTTP method.
    pub verb: String,
}

/// The name of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct QueueLabels {
    /// `origins` or `migrations`; of the election, the lease's.
    pub name: &'static str,
}

/// A state and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabels {
    /// Which state.
    pub state: &'static str,
}

/// A cluster and its state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ClusterLabels {
    /// Its role.
    pub role: &'static str,
    /// How many are in this state.
    pub state: &'static str,
}

/// A cluster by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HolderLabels {
    /// Printed cluster name.
    pub cluster: String,
}

/// A consumer cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ConsumerLabels {
    /// Printed cluster name.
    pub consumer: String,
}

/// One watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchLabels {
    /// Printed cluster name.
    pub cluster: String,
    /// Kind.
    pub kind: String,
}

/// Why something happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabels {
    /// CamelCase word.
    pub reason: String,
}

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResultLabels {
    /// `Succeeded` or `Failed`.
    pub result: &'static str,
}

/// All metrics.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_duration: Family<LatencyLabels, Histogram>,
    /// Seconds that keys waited.
    pub queue_duration: Histogram,
    /// Seconds of work on keys.
    pub work_duration: Histogram,
    /// Seconds that it took to observe a key, to decide on it, and to take the decision in.
    pub decision_duration: Histogram,
    /// Keys added.
    pub queue_adds: Family<QueueLabels, Counter>,
    /// Keys that wait.
    pub queue_depth: Family<QueueLabels, Gauge>,
    /// Retries.
    pub queue_retries: Family<QueueLabels, Counter>,
    /// Age of the oldest work in seconds.
    pub longest_running: Family<QueueLabels, Gauge<f64, AtomicU64>>,
    /// Objects by state.
    pub objects: Family<StateLabels, Gauge>,
    /// Clusters by role and state.
    pub clusters: Family<ClusterLabels, Gauge>,
    /// Seconds since the API server last said anything.
    pub staleness: Family<WatchLabels, Gauge<f64, AtomicU64>>,
    /// Bytes that indexes take, by cluster.
    pub held: Family<HolderLabels, Gauge>,
    /// Bodies that went for want of memory, by cluster.
    pub dropped: Family<HolderLabels, Gauge>,
    /// Bytes that indexes may take.
    pub memory_budget: Gauge,
    /// Seconds from the origin's creation, as the broker saw it, to its copy.
    pub create_to_copy: Histogram,
    /// Migrations by state.
    pub migrations: Family<StateLabels, Gauge>,
    /// Seconds that stages took, by how they ended.
    pub stage_duration: Family<ResultLabels, Histogram>,
    /// Migrations that failed.
    pub migration_failures: Family<ReasonLabels, Counter>,
    /// Decisions that took longer than 100 ms.
    pub slow_decisions: Counter,
    /// Writes that failed.
    pub write_errors: Family<ReasonLabels, Counter>,
    /// Events that were not sent because there were too many.
    pub events_dropped: Counter,
    /// Kubeconfigs that cannot be used now.
    pub kubeconfigs_rejected: Gauge,
    /// Copies that are kept although their origins vanished.
    pub deletions_held: Family<ConsumerLabels, Gauge>,
    /// 1 while nothing is written because the signing keys are lost.
    pub signing_keys_lost: Gauge,
    /// Whether this process leads.
    pub leader: Family<QueueLabels, Gauge>,
}

/// Stages run for hours.
fn long_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.05, 4.0, 12))
}

fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

/// Decisions take less than a millisecond.
fn short_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_02, 4.0, 10))
}

/// What the engine counts.
pub static METERS: Meters = Meters {
    decided: |took| METRICS.decision_duration.observe(took.as_secs_f64()),
    slow: || _ = METRICS.slow_decisions.inc(),
    worked: |took| METRICS.work_duration.observe(took.as_secs_f64()),
    write_failed: |reason| _ = METRICS.write_errors.get_or_create(&ReasonLabels { reason: reason.into() }).inc(),
    event_dropped: || _ = METRICS.events_dropped.inc(),
};

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            requests: Family::default(),
            request_duration: Family::new_with_constructor(seconds),
            queue_duration: seconds(),
            work_duration: seconds(),
            decision_duration: short_seconds(),
            queue_adds: Family::default(),
            queue_depth: Family::default(),
            queue_retries: Family::default(),
            longest_running: Family::default(),
            objects: Family::default(),
            clusters: Family::default(),
            staleness: Family::default(),
            held: Family::default(),
            dropped: Family::default(),
            memory_budget: Gauge::default(),
            create_to_copy: seconds(),
            migrations: Family::default(),
            stage_duration: Family::new_with_constructor(long_seconds),
            migration_failures: Family::default(),
            slow_decisions: Counter::default(),
            write_errors: Family::default(),
            events_dropped: Counter::default(),
            kubeconfigs_rejected: Gauge::default(),
            deletions_held: Family::default(),
            signing_keys_lost: Gauge::default(),
            leader: Family::default(),
            registry: Registry::default(),
        };
        // The library adds `_total` to counters itself.
        registry.register(
            "rest_client_requests",
            "Requests to API servers, by status, host and method",
            metrics.requests.clone(),
        );
        registry.register(
            "rest_client_request_duration_seconds",
            "Latency of requests to API servers",
            metrics.request_duration.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long a key waits in the queue",
            metrics.queue_duration.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long work on a key takes",
            metrics.work_duration.clone(),
        );
        registry.register(
            "resource_broker_decision_duration_seconds",
            "How long it takes to decide on a key, without its writes",
            metrics.decision_duration.clone(),
        );
        registry.register("workqueue_adds", "Keys added to the queue", metrics.queue_adds.clone());
        registry.register("workqueue_depth", "Keys that wait in the queue", metrics.queue_depth.clone());
        registry.register("workqueue_retries", "Retries after failures", metrics.queue_retries.clone());
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest work in progress",
            metrics.longest_running.clone(),
        );
        registry.register("resource_broker_objects", "Objects by state", metrics.objects.clone());
        registry.register("resource_broker_clusters", "Clusters by role and state", metrics.clusters.clone());
        registry.register(
            "resource_broker_watch_staleness_seconds",
            "Seconds since the API server last said anything on a watch",
            metrics.staleness.clone(),
        );
        registry.register(
            "resource_broker_held_bytes",
            "Memory that is taken for what is held of a cluster",
            metrics.held.clone(),
        );
        registry.register(
            "resource_broker_bodies_dropped",
            "Objects whose content was dropped for want of memory since the cluster was engaged; it is read when needed",
            metrics.dropped.clone(),
        );
        registry.register(
            "resource_broker_memory_budget_bytes",
            "Memory that may be taken for what is held of all clusters; of one, a quarter",
            metrics.memory_budget.clone(),
        );
        registry.register(
            "resource_broker_create_to_copy_seconds",
            "From seeing a new object to its copy",
            metrics.create_to_copy.clone(),
        );
        registry.register("resource_broker_migrations", "Migrations by state", metrics.migrations.clone());
        registry.register(
            "resource_broker_migration_stage_seconds",
            "How long stages of migrations took, by result",
            metrics.stage_duration.clone(),
        );
        registry.register(
            "resource_broker_migration_failures",
            "Migrations that failed, by reason",
            metrics.migration_failures.clone(),
        );
        registry.register(
            "resource_broker_slow_decisions",
            "Decisions that took longer than 100 ms",
            metrics.slow_decisions.clone(),
        );
        registry.register(
            "resource_broker_write_errors",
            "Writes that failed, by reason",
            metrics.write_errors.clone(),
        );
        registry.register(
            "resource_broker_events_dropped",
            "Kubernetes Events not sent because there were too many",
            metrics.events_dropped.clone(),
        );
        registry.register(
            "resource_broker_kubeconfigs_rejected",
            "Kubeconfigs that cannot be used now",
            metrics.kubeconfigs_rejected.clone(),
        );
        registry.register(
            "resource_broker_deletions_held",
            "Copies that are kept until a person confirms, because their origins vanished all at once",
            metrics.deletions_held.clone(),
        );
        registry.register(
            "resource_broker_signing_keys_lost",
            "1 while nothing is written because the signing keys are lost",
            metrics.signing_keys_lost.clone(),
        );
        registry.register("leader_election_master_status", "1 while this process leads", metrics.leader.clone());
        Self { registry, ..metrics }
    }

    /// The text that Prometheus reads.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// Counts one request; see [`runtime_fleet::call::Meter`].
pub fn meter(host: &str, verb: &str, code: u16, took: Duration) {
    let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
    let labels = RequestLabels { code, host: host.to_owned(), method: verb.to_owned() };
    METRICS.requests.get_or_create(&labels).inc();
    let labels = LatencyLabels { host: host.to_owned(), verb: verb.to_owned() };
    METRICS.request_duration.get_or_create(&labels).observe(took.as_secs_f64());
}

/// Notes how long a key waited.
pub fn waited(wait: Duration) {
    METRICS.queue_duration.observe(wait.as_secs_f64());
}
