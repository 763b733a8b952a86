//! Prometheus metrics; names as in controller-runtime where that has one.

use std::sync::LazyLock;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// How a pass ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResultLabels {
    /// `success` or `error`.
    pub result: &'static str,
}

/// The name of the lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LeaseLabels {
    /// Name.
    pub name: String,
}

/// All metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// All metrics of this process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    reconciles: Family<ResultLabels, Counter>,
    leader: Family<LeaseLabels, Gauge>,
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        let reconciles = Family::default();
        registry.register("controller_runtime_reconcile", "Passes over Brokers", reconciles.clone());
        let leader = Family::default();
        registry.register("leader_election_master_status", "1 while this process leads", leader.clone());
        Self { registry, reconciles, leader }
    }

    /// A pass ended.
    pub fn passed(&self, worked: bool) {
        let result = if worked { "success" } else { "error" };
        self.reconciles.get_or_create(&ResultLabels { result }).inc();
    }

    /// This process leads, or no longer does.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leader.get_or_create(&LeaseLabels { name: lease.to_owned() }).set(i64::from(leads));
    }

    /// As Prometheus reads them.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
