//! `Controller`: resource-graphs as a process, started and watched from outside.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use harness::{Lab, Process, Program, wait_for};

use crate::{probe, usage};

const DEADLINE: Duration = Duration::from_mins(1);
const COMPILED: &str = "resource_graphs_compile_duration_seconds";
const DECIDED: &str = "resource_graphs_decision_duration_seconds";

/// A running resource-graphs.
pub(crate) struct Controller {
    program: Program,
    process: Process,
    /// When this run began.
    pub(crate) started: Instant,
    metrics: String,
    health: String,
}

/// How often something was done, and the seconds that took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
    /// In which so many of them were done at the most: a bound of the histogram.
    pub(crate) longest: f64,
}

impl Controller {
    /// Starts one and waits until it is ready.
    pub(crate) async fn start(lab: &Lab, kubeconfig: &Path) -> anyhow::Result<Self> {
        Self::start_with(lab, kubeconfig, &[]).await
    }

    /// The same with further arguments.
    pub(crate) async fn start_with(lab: &Lab, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let (metrics, health) = (harness::free_address()?, harness::free_address()?);
        let program = Program::new("resource-graphs", harness::binary("resource-graphs")?)
            .args(["--kubeconfig", &kubeconfig.display().to_string()])
            .args(["--metrics-bind-address", &metrics])
            .args(["--health-probe-bind-address", &health])
            .args(args);
        let started = Instant::now();
        let process = lab.start_process(&program)?;
        let mut controller = Self { program, process, started, metrics, health };
        controller.ready().await?;
        Ok(controller)
    }

    /// Waits until `/readyz` says 200.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        wait_for(DEADLINE, "the /readyz of resource-graphs to say 200", async || {
            if let Some(status) = self.process.exit_status()? {
                return Ok(Err(anyhow::anyhow!("it ended ({status})\n{}", self.process.log()?)));
            }
            probe::get(&self.health, "/readyz").await.map(|_| Ok(()))
        })
        .await?
    }

    /// SIGTERM, then a new one with nothing in memory. Returns as soon as it is started.
    pub(crate) async fn restart(&mut self, lab: &Lab) -> anyhow::Result<()> {
        self.stop().await?;
        self.started = Instant::now();
        self.process = lab.start_process(&self.program)?;
        Ok(())
    }

    /// SIGTERM.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let status = self.process.terminate(Duration::from_secs(20)).await?;
        anyhow::ensure!(status.success(), "resource-graphs ended with {status}\n{}", self.process.log()?);
        Ok(())
    }

    /// Whether it is ready and nothing waits in its queues, with so many instances `Active`.
    pub(crate) async fn rests_with(&mut self, instances: f64) -> anyhow::Result<bool> {
        anyhow::ensure!(self.process.is_running(), "resource-graphs ended\n{}", self.process.log()?);
        if probe::get(&self.health, "/readyz").await.is_err() {
            return Ok(false);
        }
        let text = probe::get(&self.metrics, "/metrics").await?;
        let active = probe::metric(&text, "resource_graphs_instances{state=\"Active\"}");
        Ok(probe::metric(&text, "workqueue_depth") < 0.5 && (active - instances).abs() < 0.5)
    }

    /// What compiling took so far.
    pub(crate) async fn compiled(&self) -> anyhow::Result<Work> {
        self.work(COMPILED).await
    }

    /// What decisions took so far.
    pub(crate) async fn decided(&self) -> anyhow::Result<Work> {
        self.work(DECIDED).await
    }

    async fn work(&self, name: &str) -> anyhow::Result<Work> {
        let text = probe::get(&self.metrics, "/metrics").await?;
        let of = |what: &str| probe::metric(&text, &format!("{name}_{what}"));
        Ok(Work { count: of("count"), seconds: of("sum"), longest: longest(&text, name) })
    }

    /// The sum of a metric over its labels.
    pub(crate) async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        Ok(probe::metric(&probe::get(&self.metrics, "/metrics").await?, name))
    }

    /// CPU time of this run, in milliseconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        usage::cpu_of(self.process.id()).context("resource-graphs")
    }

    /// Resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> anyhow::Result<f64> {
        usage::resident_kib(self.process.id()).context("resource-graphs")
    }
}

impl Work {
    /// What was done since then.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { count: self.count - before.count, seconds: self.seconds - before.seconds, ..self }
    }

    /// Milliseconds that one took.
    pub(crate) fn mean(self) -> f64 {
        self.seconds * 1_000.0 / self.count
    }
}

/// The bound of the first bucket of a histogram that holds all, in seconds.
fn longest(text: &str, name: &str) -> f64 {
    let prefix = format!("{name}_bucket{{le=\"");
    let buckets = text.lines().filter_map(|line| line.strip_prefix(&prefix)?.split_once("\"} "));
    let buckets: Vec<(&str, &str)> = buckets.collect();
    let all = buckets.last().map_or("", |(_, count)| count);
    let bound = buckets.iter().find(|(_, count)| *count == all).and_then(|(bound, _)| bound.parse().ok());
    bound.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use super::*;

    #[test]
    fn the_longest_is_in_the_first_bucket_that_holds_all() {
        let text = "a_bucket{le=\"0.1\"} 3\na_bucket{le=\"0.2\"} 5\na_bucket{le=\"0.4\"} 5\na_bucket{le=\"+Inf\"} 5\n";
        assert_eq!(longest(text, "a"), 0.2);
        assert_eq!(longest("", "a"), f64::INFINITY);
    }
}
