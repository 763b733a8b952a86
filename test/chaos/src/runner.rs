//! `Runner`: one of our programs, killed, frozen and started again; and by itself again where it ends by itself.

use std::time::Duration;

use e2e::broker::http_get;
use harness::{Lab, Process, Program, wait_for};
use tokio::sync::Mutex;

/// How long a program may take to be ready when nothing fails.
const READY: Duration = Duration::from_mins(2);
/// How often it is looked whether a program has ended by itself.
const LOOK: Duration = Duration::from_millis(500);

/// A program and its process.
pub(crate) struct Runner {
    program: Program,
    health: String,
    /// Nothing: it was killed and is not started yet.
    process: Mutex<Option<Process>>,
}

impl Runner {
    /// One that is not started yet, and tells at `health` whether it is ready.
    pub(crate) fn new(program: Program, health: String) -> Self {
        Self { program, health, process: Mutex::new(None) }
    }

    /// Its name in the lab.
    pub(crate) fn name(&self) -> &str {
        self.program.name()
    }

    /// Starts it, and returns at once. One that runs is killed first.
    pub(crate) async fn start(&self, lab: &Lab) -> anyhow::Result<()> {
        let mut process = self.process.lock().await;
        *process = None;
        *process = Some(lab.start_process(&self.program)?);
        Ok(())
    }

    /// SIGKILL.
    pub(crate) async fn kill(&self) {
        *self.process.lock().await = None;
    }

    /// SIGSTOP.
    pub(crate) async fn freeze(&self) -> anyhow::Result<()> {
        match self.process.lock().await.as_mut() {
            Some(process) => process.pause().await,
            None => Ok(()),
        }
    }

    /// SIGCONT.
    pub(crate) async fn thaw(&self) -> anyhow::Result<()> {
        self.process.lock().await.as_mut().map_or(Ok(()), Process::resume)
    }

    /// Waits until `/readyz` says 200.
    pub(crate) async fn until_ready(&self) -> anyhow::Result<()> {
        wait_for(READY, &format!("{} to be ready", self.name()), async || {
            let (status, body) = http_get(&self.health, "/readyz").await?;
            anyhow::ensure!(status == 200, "{status} {body}");
            anyhow::Ok(())
        })
        .await
    }

    /// Returns when it ends by itself, which it must not, whatever fails.
    pub(crate) async fn ended(&self) -> anyhow::Error {
        loop {
            tokio::time::sleep(LOOK).await;
            let mut process = self.process.lock().await;
            let status = process.as_mut().map(Process::exit_status).transpose();
            match status.map(Option::flatten) {
                Ok(None) => {}
                Ok(Some(status)) => return anyhow::anyhow!("{} ended by itself: {status}", self.name()),
                Err(error) => return error,
            }
        }
    }

    /// Its resident memory in MiB, if that can be told.
    pub(crate) async fn memory(&self) -> Option<u64> {
        let id = self.process.lock().await.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib >> 10)
    }
}
