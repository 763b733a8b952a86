//! The etcd of a lab, and what labs ask it for, in HTTP/1.0, for which a client would be too much.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::binaries;
use crate::port::Port;
use crate::process::{Process, Program};
use crate::reaper::Reaper;
use crate::wait_for;

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// The etcd of a lab.
#[derive(Debug)]
pub(crate) struct Etcd {
    port: Port,
    program: Program,
    process: Mutex<Option<Process>>,
}

impl Etcd {
    /// Starts one with its data in a lab's directory, and returns when it answers.
    pub(crate) async fn start(lab: &Path, reaper: &Reaper) -> anyhow::Result<Self> {
        let port = Port::reserve()?;
        let url = url(&port);
        let program = Program::new("etcd", binaries::control_plane("etcd")?)
            .arg(format!("--data-dir={}", data(lab).display()))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            .args([
                // Alone, so nobody needs to know this port.
                "--listen-peer-urls=http://127.0.0.1:0",
                "--unsafe-no-fsync",
                "--log-level=warn",
                // 8 GiB: benches fill more than the default 2.
                "--quota-backend-bytes=8589934592",
            ]);
        let etcd = Self { port, program, process: Mutex::new(None) };
        etcd.start_again(lab, reaper).await?;
        Ok(etcd)
    }

    /// Starts it with what its directory holds, and returns when it answers. One that runs is killed first.
    pub(crate) async fn start_again(&self, lab: &Path, reaper: &Reaper) -> anyhow::Result<()> {
        self.stop();
        let mut process = self.program.start(lab, reaper)?;
        let port = self.port.number();
        let ready = wait_for(READY_DEADLINE, "etcd", async || health(port).await).await;
        ready.with_context(|| process.last_lines())?;
        anyhow::ensure!(process.is_running(), "etcd ended\n{}", process.last_lines());
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    /// Kills it (SIGKILL).
    pub(crate) fn stop(&self) {
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Where it is reached.
    pub(crate) fn url(&self) -> String {
        url(&self.port)
    }

    /// Forgets all that was before now: whoever asks for older revisions is told that they are compacted. Returns the
    /// revision.
    pub(crate) async fn compact(&self) -> anyhow::Result<u64> {
        compact(self.port.number()).await
    }
}

fn url(port: &Port) -> String {
    format!("http://127.0.0.1:{}", port.number())
}

/// Where it keeps its data in a lab's directory.
pub(crate) fn data(lab: &Path) -> PathBuf {
    lab.join("etcd")
}

/// Whether it is up and well.
async fn health(port: u16) -> anyhow::Result<()> {
    let answer = ask(port, "GET /health HTTP/1.0\r\n\r\n").await?;
    anyhow::ensure!(answer.contains("\"health\":\"true\""), "{answer}");
    Ok(())
}

async fn compact(port: u16) -> anyhow::Result<u64> {
    // A range of one key that nobody has: what is wanted is what the answer's header says.
    let told = post(port, "range", &json!({"key": "AA=="})).await?;
    let revision = told["header"]["revision"].as_str().and_then(|text| text.parse().ok());
    let revision: u64 = revision.with_context(|| format!("etcd told no revision: {told}"))?;
    post(port, "compaction", &json!({"revision": revision.to_string()})).await?;
    Ok(revision)
}

/// One call of its gateway from JSON.
async fn post(port: u16, what: &str, body: &Value) -> anyhow::Result<Value> {
    let body = body.to_string();
    let head =
        format!("POST /v3/kv/{what} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    let answer = ask(port, &format!("{head}\r\n\r\n{body}")).await?;
    let (head, told) = answer.split_once("\r\n\r\n").context("etcd's answer has no end of its head")?;
    anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "etcd: {what}: {answer}");
    serde_json::from_str(told).with_context(|| format!("etcd: {what}: {told}"))
}

async fn ask(port: u16, request: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
