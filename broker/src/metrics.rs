//! Prometheus metrics, beside those of every program.

use std::sync::{LazyLock, atomic::AtomicU64};

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
use runtime_process::metrics::{self, seconds};

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
    /// All of them, those of every program included.
    pub registry: Registry,
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
    /// Kubeconfigs that cannot be used now.
    pub kubeconfigs_rejected: Gauge,
    /// Copies that are kept although their origins vanished.
    pub deletions_held: Family<ConsumerLabels, Gauge>,
    /// 1 while nothing is written because the signing keys are lost.
    pub signing_keys_lost: Gauge,
}

/// Stages run for hours.
fn long_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.05, 4.0, 12))
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        metrics::METRICS.register(&mut registry, "resource_broker");
        let metrics = Self {
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
            kubeconfigs_rejected: Gauge::default(),
            deletions_held: Family::default(),
            signing_keys_lost: Gauge::default(),
            registry: Registry::default(),
        };
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
        Self { registry, ..metrics }
    }
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
