//! What the three programs expose, as they encode it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use resource_broker::metrics as broker;
use resource_graphs::metrics as graphs;
use runtime_fleet::queue::QueueStats;
use runtime_process::metrics as process;

use crate::metrics as operator;

/// Names with their labels.
pub(super) type Names = BTreeMap<String, BTreeSet<String>>;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Exposed {
    /// By the name that people know: of a histogram the one without `_bucket`, `_sum` and `_count`.
    pub(super) metrics: Names,
    /// By the name that is asked for, with the metric's name.
    pub(super) series: BTreeMap<String, String>,
}

/// What has labels is told once it has counted something: let all of it do so. Whoever registers a metric with labels adds it.
fn count() {
    process::meter("host", "GET", 200, Duration::ZERO);
    (process::METERS.write_failed)("Conflict");
    process::METRICS.queues([("origins", QueueStats::default())]);
    process::METRICS.leads("lease", true);

    let metrics = &*broker::METRICS;
    metrics.objects.get_or_create(&broker::StateLabels { state: "Served" }).set(1);
    metrics.clusters.get_or_create(&broker::ClusterLabels { role: "consumer", state: "Ready" }).set(1);
    let watch = broker::WatchLabels { cluster: "c".into(), kind: "Secret".into() };
    metrics.staleness.get_or_create(&watch).set(1.0);
    let holder = broker::HolderLabels { cluster: "c".into() };
    metrics.held.get_or_create(&holder).set(1);
    metrics.dropped.get_or_create(&holder).set(1);
    metrics.migrations.get_or_create(&broker::StateLabels { state: "Failed" }).set(1);
    metrics.stage_duration.get_or_create(&broker::ResultLabels { result: "Failed" }).observe(1.0);
    metrics.migration_failures.get_or_create(&broker::ReasonLabels { reason: "Timeout".into() }).inc();
    metrics.deletions_held.get_or_create(&broker::ConsumerLabels { consumer: "c".into() }).set(1);

    let metrics = &*graphs::METRICS;
    metrics.instances.get_or_create(&graphs::StateLabels { state: "Active" }).set(1);
    let distribution = graphs::DistributionLabels { rgd: "r".into(), state: "updated" };
    metrics.distribution.get_or_create(&distribution).set(1);
    let cluster = graphs::ClusterLabels { cluster: "c".into() };
    metrics.cluster_up.get_or_create(&cluster).set(1);
    metrics.cluster_silence.get_or_create(&cluster).set(1.0);

    operator::METRICS.passed(true);
    operator::METRICS.leads("lease", true);
}

/// Name and labels of a line. No value here has a comma in it.
fn series(line: &str) -> (&str, impl Iterator<Item = &str>) {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    let labels = line.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(labels, _)| labels);
    (name, labels.split(',').filter_map(|label| Some(label.split_once('=')?.0)))
}

impl Exposed {
    /// Of all programs.
    pub(super) fn all() -> Self {
        count();
        let texts = [
            process::encode(&broker::METRICS.registry).unwrap(),
            process::encode(&graphs::METRICS.registry).unwrap(),
            operator::METRICS.encode().unwrap(),
        ];
        let mut exposed = Self::default();
        for text in &texts {
            exposed.read(text);
        }
        exposed
    }

    fn read(&mut self, text: &str) {
        let mut metric = String::new();
        for line in text.lines() {
            if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                metric = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
            } else if !line.starts_with('#') {
                let (name, labels) = series(line);
                let own = labels.filter(|label| *label != "le").map(str::to_owned);
                self.metrics.entry(metric.clone()).or_default().extend(own);
                self.series.insert(name.to_owned(), metric.clone());
            }
        }
    }

    /// The metric that a series is of, with its labels.
    pub(super) fn metric(&self, series: &str) -> Option<(&str, &BTreeSet<String>)> {
        let (name, labels) = self.metrics.get_key_value(self.series.get(series)?)?;
        Some((name.as_str(), labels))
    }
}
