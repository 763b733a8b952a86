//! `Broker`: one broker process.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use harness::{Lab, Process, Program, free_address, wait_for};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{Kind, Place};

const READY: Duration = Duration::from_mins(1);
const EXIT: Duration = Duration::from_secs(20);

/// How a broker is started.
#[derive(Clone, Default)]
pub struct BrokerSetup<'a> {
    /// The program; `resource-broker` when empty.
    pub program: &'a str,
    /// Its name in the lab: log `<name>.log`, kubeconfigs in `<name>/`.
    pub name: &'a str,
    /// The user of its kubeconfigs; `broker` when empty.
    pub user: &'a str,
    /// The coordination cluster.
    pub coordination: Option<&'a Place>,
    /// Consumers, each by a kubeconfig file.
    pub consumers: Vec<&'a Place>,
    /// Providers, each by a kubeconfig file.
    pub providers: Vec<&'a Place>,
    /// `--watch-kind`.
    pub kinds: &'a [Kind],
    /// Further arguments.
    pub args: Vec<String>,
}

/// A broker that was started. Dropping it kills it.
pub struct Broker {
    program: Program,
    process: Process,
    directory: PathBuf,
    health: String,
    metrics: String,
}

/// One HTTP/1.0 request: status and body.
pub async fn http_get(address: &str, path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no HTTP status")?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok((status, body))
}

impl Broker {
    /// The program that `setup` describes, with its kubeconfigs written; and the addresses of health and metrics.
    pub fn program(lab: &Lab, setup: &BrokerSetup<'_>) -> (Program, PathBuf, String, String) {
        let directory = lab.directory().join(setup.name);
        let user = if setup.user.is_empty() { "broker" } else { setup.user };
        let write = |role: &str, place: &Place| {
            let folder = directory.join(role);
            fs::create_dir_all(&folder).unwrap();
            let file = folder.join(format!("{}.kubeconfig", place.name()));
            place.cluster.write_kubeconfig(user, &file).unwrap();
            file.display().to_string()
        };
        let (health, metrics) = (free_address().unwrap(), free_address().unwrap());
        let program = if setup.program.is_empty() { "resource-broker" } else { setup.program };
        let path = harness::binary(program).unwrap_or_else(|error| panic!("{error:#}"));
        let mut program = Program::new(setup.name, path)
            .env("NO_COLOR", "1")
            .args(["--health-probe-bind-address", &health])
            .args(["--metrics-bind-address", &metrics]);
        if let Some(hub) = setup.coordination {
            program = program.args(["--coordination-kubeconfig", &write("coordination", hub)]);
        }
        for consumer in &setup.consumers {
            program = program.args(["--consumer-kubeconfig", &write("consumer", consumer)]);
        }
        for provider in &setup.providers {
            program = program.args(["--provider-kubeconfig", &write("provider", provider)]);
        }
        for kind in setup.kinds {
            program = program.args(["--watch-kind", &kind.flag()]);
        }
        (program.args(setup.args.iter().cloned()), directory, health, metrics)
    }

    /// Starts one, and returns at once.
    pub fn spawn(lab: &Lab, setup: &BrokerSetup<'_>) -> Self {
        let (program, directory, health, metrics) = Self::program(lab, setup);
        let process = lab.start_process(&program).unwrap();
        Self { program, process, directory, health, metrics }
    }

    /// Starts one, and returns when it is ready.
    pub async fn start(lab: &Lab, setup: &BrokerSetup<'_>) -> Self {
        let mut broker = Self::spawn(lab, setup);
        broker.until_ready().await;
        broker
    }

    /// Waits until `/readyz` says 200.
    pub async fn until_ready(&mut self) {
        let ready = until_ready(&mut self.process, &self.health).await;
        ready.unwrap_or_else(|error| panic!("{error:#}\n{}", self.last_lines(40)));
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGTERM; returns when it has ended, with its exit code.
    pub async fn terminate(&mut self) -> Option<i32> {
        self.process.terminate(EXIT).await.unwrap().code()
    }

    /// Starts the same again after [`Broker::kill`] or [`Broker::terminate`], and returns when it is ready.
    pub async fn start_again(&mut self, lab: &Lab) {
        self.process = lab.start_process(&self.program).unwrap();
        self.until_ready().await;
    }

    /// The process, for signals and its exit status.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Its kubeconfigs: `coordination/`, `consumer/` and `provider/`, one file `<name>.kubeconfig` each.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What this run has logged.
    pub fn log(&self) -> String {
        self.process.log().unwrap_or_default()
    }

    /// The last lines of its log.
    pub fn last_lines(&self, count: usize) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }

    /// Address of `/healthz` and `/readyz`.
    pub fn health_address(&self) -> &str {
        &self.health
    }

    /// `GET` on the health address (`/healthz`, `/readyz`): status and body.
    pub async fn health(&self, path: &str) -> anyhow::Result<(u16, String)> {
        http_get(&self.health, path).await
    }

    /// Address of `/metrics`.
    pub fn metrics_address(&self) -> &str {
        &self.metrics
    }

    /// `/metrics`.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        http_get(&self.metrics, "/metrics").await.map(|(_, body)| body)
    }
}

/// Waits until a program's `/readyz` at `health` says 200. `Err`: it ended, or was not ready in time.
pub(crate) async fn until_ready(process: &mut Process, health: &str) -> anyhow::Result<()> {
    let what = format!("{} to be ready", process.name());
    let ready = wait_for(READY, &what, async || {
        if let Some(status) = process.exit_status()? {
            return Ok(Err(anyhow::anyhow!("it ended: {status}")));
        }
        let (status, body) = http_get(health, "/readyz").await?;
        anyhow::ensure!(status == 200, "{status} {body}");
        anyhow::Ok(Ok(()))
    });
    ready.await.and_then(|ended| ended)
}
