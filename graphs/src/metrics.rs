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

/// The name of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct QueueLabels {
    /// `definitions` or `instances`.
    pub name: &'static str,
}

/// A state and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabels {
    /// Which state.
    pub state: &'static str,
}

/// Why something happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabels {
    /// CamelCase word.
    pub reason: String,
}

/// All metrics.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    queue_duration: Histogram,
    work_duration: Histogram,
    decision_duration: Histogram,
    compile_duration: Histogram,
    slow_decisions: Counter,
    write_errors: Family<ReasonLabels, Counter>,
    events_dropped: Counter,
    /// Keys added.
    pub queue_adds: Family<QueueLabels, Counter>,
    /// Keys that wait.
    pub queue_depth: Family<QueueLabels, Gauge>,
    /// Retries.
    pub queue_retries: Family<QueueLabels, Counter>,
    /// Age of the oldest work in seconds.
    pub longest_running: Family<QueueLabels, Gauge<f64, AtomicU64>>,
    /// Instances by state.
    pub instances: Family<StateLabels, Gauge>,
    /// Bytes that indexes take.
    pub held: Gauge,
    /// Whether this process leads.
    pub leader: Gauge,
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
            queue_duration: seconds(),
            work_duration: seconds(),
            decision_duration: short_seconds(),
            compile_duration: seconds(),
            slow_decisions: Counter::default(),
            write_errors: Family::default(),
            events_dropped: Counter::default(),
            queue_adds: Family::default(),
            queue_depth: Family::default(),
            queue_retries: Family::default(),
            longest_running: Family::default(),
            instances: Family::default(),
            held: Gauge::default(),
            leader: Gauge::default(),
            registry: Registry::default(),
        };
        // The library adds `_total` to counters itself.
        let requests = metrics.requests.clone();
        registry.register("rest_client_requests", "Requests to API servers, by status, host and method", requests);
        let waited = metrics.queue_duration.clone();
        registry.register("workqueue_queue_duration_seconds", "How long a key waits in the queue", waited);
        let worked = metrics.work_duration.clone();
        registry.register("workqueue_work_duration_seconds", "How long work on a key takes", worked);
        let decided = metrics.decision_duration.clone();
        let help = "How long it takes to decide on a key, without its writes";
        registry.register("resource_graphs_decision_duration_seconds", help, decided);
        let compiled = metrics.compile_duration.clone();
        let help = "How long it takes to compile a ResourceGraphDefinition";
        registry.register("resource_graphs_compile_duration_seconds", help, compiled);
        let slow = metrics.slow_decisions.clone();
        registry.register("resource_graphs_slow_decisions", "Decisions that took longer than 100 ms", slow);
        let errors = metrics.write_errors.clone();
        registry.register("resource_graphs_write_errors", "Writes that failed, by reason", errors);
        let help = "Kubernetes Events not sent because there were too many";
        registry.register("resource_graphs_events_dropped", help, metrics.events_dropped.clone());
        registry.register("workqueue_adds", "Keys added to the queue", metrics.queue_adds.clone());
        registry.register("workqueue_depth", "Keys that wait in the queue", metrics.queue_depth.clone());
        registry.register("workqueue_retries", "Retries after failures", metrics.queue_retries.clone());
        let help = "Age of the oldest work in progress";
        registry.register("workqueue_longest_running_processor_seconds", help, metrics.longest_running.clone());
        registry.register("resource_graphs_instances", "Instances by state", metrics.instances.clone());
        registry.register("resource_graphs_held_bytes", "Memory that is taken for what is held", metrics.held.clone());
        registry.register("leader_election_master_status", "1 while this process leads", metrics.leader.clone());
        Self { registry, ..metrics }
    }

    /// The text that Prometheus reads.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// A ResourceGraphDefinition was compiled, and that took this long.
    pub fn compiled(&self, took: Duration) {
        self.compile_duration.observe(took.as_secs_f64());
    }
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// Counts one request; see [`runtime_fleet::call::Meter`].
pub fn meter(host: &str, verb: &str, code: u16, _took: Duration) {
    let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
    let labels = RequestLabels { code, host: host.to_owned(), method: verb.to_owned() };
    METRICS.requests.get_or_create(&labels).inc();
}

/// Notes how long a key waited.
pub fn waited(wait: Duration) {
    METRICS.queue_duration.observe(wait.as_secs_f64());
}
