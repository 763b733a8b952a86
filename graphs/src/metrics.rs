//! Prometheus metrics, beside those of every program.

use std::sync::{LazyLock, atomic::AtomicU64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use runtime_process::metrics::{self, seconds};

/// A state and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabels {
    /// Which state.
    pub state: &'static str,
}

/// An RGD, and a state in which clusters may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DistributionLabels {
    /// Its name.
    pub rgd: String,
    /// Which state.
    pub state: &'static str,
}

/// A spoke.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ClusterLabels {
    /// Its name.
    pub cluster: String,
}

/// All metrics.
pub struct Metrics {
    /// All of them, those of every program included.
    pub registry: Registry,
    /// Seconds that it took to compile an RGD.
    pub compile_duration: Histogram,
    /// Instances by state.
    pub instances: Family<StateLabels, Gauge>,
    /// Bytes that indexes take.
    pub held: Gauge,
    /// Clusters of each RGD by state.
    pub distribution: Family<DistributionLabels, Gauge>,
    /// Seconds until a spoke serves a revision that it was told to run.
    pub apply_duration: Histogram,
    /// 1 for each spoke that is reached, 0 for others.
    pub cluster_up: Family<ClusterLabels, Gauge>,
    /// Seconds since a spoke was heard of last.
    pub cluster_silence: Family<ClusterLabels, Gauge<f64, AtomicU64>>,
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        metrics::METRICS.register(&mut registry, "resource_graphs");
        let (compile_duration, instances, held) = (seconds(), Family::default(), Gauge::default());
        let own = registry.sub_registry_with_prefix("resource_graphs");
        let compiling = "How long it takes to compile a ResourceGraphDefinition";
        own.register("compile_duration_seconds", compiling, compile_duration.clone());
        own.register("instances", "Instances by state", instances.clone());
        own.register("held_bytes", "Memory that is taken for what is held", held.clone());
        let (distribution, apply_duration) = (Family::default(), seconds());
        let (cluster_up, cluster_silence) = (Family::default(), Family::default());
        let states = "Clusters of a ResourceGraphDefinition by state";
        registry.register("kro_distribution_clusters", states, distribution.clone());
        let applying = "Time until a spoke serves a revision that it was told to run";
        registry.register("kro_distribution_apply_seconds", applying, apply_duration.clone());
        registry.register("kro_cluster_up", "Whether a spoke is reached", cluster_up.clone());
        let silence = "Time since a spoke's API server said anything on a watch";
        registry.register("kro_cluster_last_event_seconds", silence, cluster_silence.clone());
        Self { registry, compile_duration, instances, held, distribution, apply_duration, cluster_up, cluster_silence }
    }
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
