//! Prometheus metrics, beside those of every program.

use std::sync::LazyLock;

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
        Self { registry, compile_duration, instances, held }
    }
}

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
