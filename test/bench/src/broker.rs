//! The broker as a process: the release binary, started and watched from outside.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use harness::{Process, Program, wait_for};
use k8s_openapi::jiff::Timestamp;

use crate::stage::{Marks, Stage};
use crate::{probe, usage, widget};

const DEADLINE: Duration = Duration::from_mins(1);
/// How long nothing may happen until the broker counts as quiet.
const QUIET: Duration = Duration::from_secs(1);
/// The same where there are many clusters, of each of which metrics tell, and how often it is looked then.
const RESTS: Duration = Duration::from_secs(2);
const GLANCE: Duration = Duration::from_millis(250);
/// The histogram of single decisions.
const DECISIONS: &str = "resource_broker_decision_duration_seconds";

/// A running broker.
pub(crate) struct Broker {
    process: Process,
    started: Instant,
    /// The same moment by the clock that audit logs have.
    started_at: Timestamp,
    metrics: String,
    health: String,
}

impl Broker {
    /// Starts it. Returns at once.
    pub(crate) fn start(stage: &Stage) -> anyhow::Result<Self> {
        Self::start_with(stage, &[])
    }

    /// The same, with some more of its flags.
    pub(crate) fn start_with(stage: &Stage, flags: &[&str]) -> anyhow::Result<Self> {
        let [hub, consumer, east, west] = stage.kubeconfigs()?;
        let (metrics, health) = (harness::free_address()?, harness::free_address()?);
        let program = Program::new("resource-broker", harness::broker_binary()?).args([
            "--coordination-kubeconfig",
            &hub,
            "--consumer-kubeconfig",
            &consumer,
            "--provider-kubeconfig",
            &east,
            "--provider-kubeconfig",
            &west,
            "--watch-kind",
            widget::WATCH_KIND,
            "--metrics-bind-address",
            &metrics,
            "--health-probe-bind-address",
            &health,
        ]);
        let rogue = stage.rogue_kubeconfig()?;
        let program = program.args(rogue.iter().flat_map(|file| ["--consumer-kubeconfig", file]));
        let program = program.args(flags.iter().copied());
        let (started, started_at) = (Instant::now(), Timestamp::now());
        let process = stage.lab.start_process(&program)?;
        Ok(Self { process, started, started_at, metrics, health })
    }

    /// Waits until `/readyz` says 200.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        wait_for(DEADLINE, "the broker's /readyz to say 200", async || {
            if let Some(status) = self.process.exit_status()? {
                return Ok(Err(anyhow::anyhow!("the broker ended ({status})\n{}", self.process.log()?)));
            }
            probe::get(&self.health, "/readyz").await.map(|_| Ok(()))
        })
        .await?
    }

    /// Seconds from its start until all its indexes were complete (`/readyz`), its queue was empty and its last request
    /// was answered: the latest of these, once nothing else has come for a second.
    pub(crate) async fn seconds_to_quiet(&mut self, stage: &Stage, since: &Marks) -> anyhow::Result<f64> {
        let end = self.started + DEADLINE;
        let mut at_rest: Option<Instant> = None;
        loop {
            anyhow::ensure!(Instant::now() < end, "the broker was not quiet within {DEADLINE:?}");
            anyhow::ensure!(self.process.is_running(), "the broker ended\n{}", self.process.log()?);
            match (self.rests().await, at_rest) {
                (false, _) => at_rest = None,
                (true, None) => at_rest = Some(Instant::now()),
                (true, Some(from)) if from.elapsed() > QUIET => {
                    let last = self.last_request(stage, since).await?;
                    if self.started.elapsed() > last + QUIET {
                        return Ok(last.max(from - self.started).as_secs_f64());
                    }
                }
                (true, Some(_)) => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// From its start until `/readyz` said 200.
    pub(crate) async fn ready_after(&mut self, deadline: Duration) -> anyhow::Result<Duration> {
        while probe::get(&self.health, "/readyz").await.is_err() {
            self.goes_on(deadline)?;
            tokio::time::sleep(GLANCE).await;
        }
        Ok(self.started.elapsed())
    }

    /// From its start until it was at rest for the first time of a while in which it stayed so.
    pub(crate) async fn rest_after(&mut self, deadline: Duration) -> anyhow::Result<Duration> {
        self.ready_after(deadline).await?;
        let mut at_rest: Option<Duration> = None;
        loop {
            let now = self.started.elapsed();
            match (self.rests().await, at_rest) {
                (false, _) => at_rest = None,
                (true, None) => at_rest = Some(now),
                (true, Some(from)) if now > from + RESTS => return Ok(from),
                (true, Some(_)) => {}
            }
            self.goes_on(deadline)?;
            tokio::time::sleep(GLANCE).await;
        }
    }

    fn goes_on(&mut self, deadline: Duration) -> anyhow::Result<()> {
        anyhow::ensure!(self.process.is_running(), "the broker ended\n{}", self.process.log()?);
        anyhow::ensure!(self.started.elapsed() < deadline, "the broker did not come to rest within {deadline:?}");
        Ok(())
    }

    /// When it was started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Files and sockets that it has open.
    pub(crate) fn open_files(&self) -> anyhow::Result<usize> {
        usage::open_files(self.process.id()).context("the broker")
    }

    /// Metrics tell of every watch, so they are asked for only where the answer matters.
    async fn rests(&self) -> bool {
        probe::get(&self.health, "/readyz").await.is_ok()
            && probe::get(&self.metrics, "/metrics")
                .await
                .is_ok_and(|text| probe::metric(&text, "workqueue_depth") < 0.5)
    }

    /// When the last request to a real API server was answered, from the start.
    pub(crate) async fn last_request(&self, stage: &Stage, since: &Marks) -> anyhow::Result<Duration> {
        let requests = stage.broker_requests(since).await?;
        let last = requests.iter().flat_map(|one| one.events.iter()).map(|event| event.timestamp).max();
        let after = last.map_or(Duration::ZERO, |last| {
            Duration::try_from(last.duration_since(self.started_at)).unwrap_or_default()
        });
        Ok(after)
    }

    /// How often an origin was taken out of the queue and worked on so far.
    pub(crate) async fn turns(&self) -> anyhow::Result<f64> {
        let text = probe::get(&self.metrics, "/metrics").await?;
        Ok(probe::metric(&text, "workqueue_work_duration_seconds_count"))
    }

    /// Decisions so far, and the seconds they took; `None` where the broker does not tell.
    pub(crate) async fn decisions(&self) -> anyhow::Result<Option<(f64, f64)>> {
        let text = probe::get(&self.metrics, "/metrics").await?;
        let of = |what: &str| probe::metric(&text, &format!("{DECISIONS}_{what}"));
        Ok(text.contains(DECISIONS).then(|| (of("count"), of("sum"))))
    }

    /// CPU time so far, in milliseconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        usage::cpu_of(self.process.id()).context("the broker")
    }

    /// Resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> anyhow::Result<f64> {
        usage::resident_kib(self.process.id()).context("the broker")
    }

    /// Starts it anew with these flags, with nothing in memory. Returns at once. The old process must have been stopped.
    pub(crate) fn start_again(&mut self, stage: &Stage, flags: &[&str]) -> anyhow::Result<()> {
        *self = Self::start_with(stage, flags)?;
        Ok(())
    }

    /// Stops it and starts it with these flags, and waits until it is ready.
    pub(crate) async fn restart_with(&mut self, stage: &Stage, flags: &[&str]) -> anyhow::Result<()> {
        self.stop().await?;
        self.start_again(stage, flags)?;
        self.ready().await
    }

    /// SIGTERM; returns how many seconds it took to end.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<f64> {
        let asked = Instant::now();
        let status = self.process.terminate(Duration::from_secs(20)).await?;
        anyhow::ensure!(status.success(), "the broker ended with {status}\n{}", self.process.log()?);
        Ok(asked.elapsed().as_secs_f64())
    }
}
