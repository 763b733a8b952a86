//! What is measured of every program that has machines; names as in controller-runtime and client-go where those have one.

use std::{
    sync::{LazyLock, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use runtime_engine::meters::Meters;
use runtime_fleet::queue::QueueStats;

use crate::totals::TOTALS;

/// One request to an API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    /// HTTP status, `<error>` where there was none.
    code: String,
    /// Host and port.
    host: String,
    /// HTTP method.
    method: String,
}

/// Host and method.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LatencyLabels {
    host: String,
    verb: String,
}

/// The name of a queue, or of a Lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabels {
    name: String,
}

/// Why something happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    /// CamelCase word.
    reason: &'static str,
}

/// What is measured of every program.
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    request_duration: Family<LatencyLabels, Histogram>,
    queue_duration: Histogram,
    work_duration: Histogram,
    decision_duration: Histogram,
    slow_decisions: Counter,
    write_errors: Family<ReasonLabels, Counter>,
    events_dropped: Counter,
    queue_adds: Family<NameLabels, Counter>,
    queue_depth: Family<NameLabels, Gauge>,
    queue_retries: Family<NameLabels, Counter>,
    longest_running: Family<NameLabels, Gauge<f64, AtomicU64>>,
    leader: Family<NameLabels, Gauge>,
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// What the engine counts.
pub static METERS: Meters = Meters {
    waited: |wait| METRICS.queue_duration.observe(wait.as_secs_f64()),
    decided: |took| {
        METRICS.decision_duration.observe(took.as_secs_f64());
        TOTALS.decided();
    },
    slow: || _ = METRICS.slow_decisions.inc(),
    worked: |took| METRICS.work_duration.observe(took.as_secs_f64()),
    write_failed: |reason| _ = METRICS.write_errors.get_or_create(&ReasonLabels { reason }).inc(),
    event_dropped: || _ = METRICS.events_dropped.inc(),
};

/// For what may take some seconds.
pub fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

/// Decisions take less than a millisecond.
fn short_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_02, 4.0, 10))
}

/// A number of things, as a gauge has it.
pub fn gauge(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Metrics {
    fn new() -> Self {
        Self {
            requests: Family::default(),
            request_duration: Family::new_with_constructor(seconds),
            queue_duration: seconds(),
            work_duration: seconds(),
            decision_duration: short_seconds(),
            slow_decisions: Counter::default(),
            write_errors: Family::default(),
            events_dropped: Counter::default(),
            queue_adds: Family::default(),
            queue_depth: Family::default(),
            queue_retries: Family::default(),
            longest_running: Family::default(),
            leader: Family::default(),
        }
    }

    /// Registers them; what has no name elsewhere begins with the program's, as `resource_broker`.
    pub fn register(&self, registry: &mut Registry, program: &str) {
        // The library adds `_total` to counters itself.
        let help = "Requests to API servers, by status, host and method";
        registry.register("rest_client_requests", help, self.requests.clone());
        let help = "Latency of requests to API servers";
        registry.register("rest_client_request_duration_seconds", help, self.request_duration.clone());
        let help = "How long a key waits in the queue";
        registry.register("workqueue_queue_duration_seconds", help, self.queue_duration.clone());
        let help = "How long work on a key takes";
        registry.register("workqueue_work_duration_seconds", help, self.work_duration.clone());
        registry.register("workqueue_adds", "Keys added to the queue", self.queue_adds.clone());
        registry.register("workqueue_depth", "Keys that wait in the queue", self.queue_depth.clone());
        registry.register("workqueue_retries", "Retries after failures", self.queue_retries.clone());
        let help = "Age of the oldest work in progress";
        registry.register("workqueue_longest_running_processor_seconds", help, self.longest_running.clone());
        registry.register("leader_election_master_status", "1 while this process leads", self.leader.clone());
        let own = registry.sub_registry_with_prefix(program);
        let help = "How long it takes to decide on a key, without its writes";
        own.register("decision_duration_seconds", help, self.decision_duration.clone());
        own.register("slow_decisions", "Decisions that took longer than 100 ms", self.slow_decisions.clone());
        own.register("write_errors", "Writes that failed, by reason", self.write_errors.clone());
        let help = "Kubernetes Events not sent because there were too many";
        own.register("events_dropped", help, self.events_dropped.clone());
    }

    /// How it stands with queues now, by their names.
    pub fn queues<const N: usize>(&self, queues: [(&str, QueueStats); N]) {
        for (name, stats) in queues {
            let queue = NameLabels { name: name.to_owned() };
            self.queue_depth.get_or_create(&queue).set(gauge(stats.depth));
            self.longest_running.get_or_create(&queue).set(stats.longest_running.as_secs_f64());
            for (counter, total) in [(&self.queue_adds, stats.adds), (&self.queue_retries, stats.retries)] {
                let counter = counter.get_or_create(&queue);
                counter.inc_by(total.saturating_sub(counter.get()));
            }
        }
    }

    /// Whether this process leads by a Lease of this name.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leader.get_or_create(&NameLabels { name: lease.to_owned() }).set(i64::from(leads));
    }
}

/// The text that Prometheus reads.
pub fn encode(registry: &Registry) -> Option<String> {
    let mut text = String::new();
    text::encode(&mut text, registry).ok()?;
    Some(text)
}

/// Counts one request; see [`runtime_fleet::call::Meter`].
pub fn meter(host: &str, verb: &str, code: u16, took: Duration) {
    TOTALS.asked(verb, code);
    let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
    let labels = RequestLabels { code, host: host.to_owned(), method: verb.to_owned() };
    METRICS.requests.get_or_create(&labels).inc();
    let labels = LatencyLabels { host: host.to_owned(), verb: verb.to_owned() };
    METRICS.request_duration.get_or_create(&labels).observe(took.as_secs_f64());
}
