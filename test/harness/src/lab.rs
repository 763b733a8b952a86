//! One etcd and the API servers on it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::try_join_all;

use crate::binaries;
use crate::cluster::{Cluster, ClusterOptions};
use crate::etcd;
use crate::install_tls;
use crate::obituary;
use crate::port::{Port, random};
use crate::process::{Process, Program};
use crate::reaper::Reaper;
use crate::wait_for;

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// Where a lab lives and what stays of it.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Its directory, which must not exist yet. Default: a new one in the directory for temporary files.
    pub directory: Option<PathBuf>,
    /// Whether the directory stays when the lab ends. Default: whether `HARNESS_KEEP` is `1`.
    pub keep: bool,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self { directory: None, keep: env::var_os("HARNESS_KEEP").is_some_and(|value| value == "1") }
    }
}

/// One etcd, the clusters on it, and the programs beside them.
///
/// It needs a runtime only while its methods run, so tests that each have their own can share one from a `static`
/// `tokio::sync::OnceCell`. Dropping it, or the end of the process in whatever way (SIGKILL, a panic, a `static` that
/// is never dropped), ends everything that it started and removes its directory. Children that leave their process
/// group on purpose escape that; none here does.
#[derive(Debug)]
pub struct Lab {
    directory: PathBuf,
    keep: bool,
    reaper: Arc<Reaper>,
    etcd_url: String,
    etcd: Mutex<Option<Process>>,
    etcd_program: Program,
    etcd_port: Port,
}

impl Lab {
    /// Starts etcd, and returns when it answers.
    ///
    /// # Errors
    /// When the binaries are missing (says how to build them), the directory exists, or etcd does not come up.
    pub async fn start(options: LabOptions) -> anyhow::Result<Self> {
        install_tls();
        let etcd = binaries::control_plane("etcd")?;
        let directory = make_directory(options.directory)?;
        let reaper = Reaper::start((!options.keep).then_some(directory.as_path()))?;
        let port = Port::reserve()?;
        let etcd_url = format!("http://127.0.0.1:{}", port.number());
        let program = Program::new("etcd", etcd)
            .arg(format!("--data-dir={}", directory.join("etcd").display()))
            .arg(format!("--listen-client-urls={etcd_url}"))
            .arg(format!("--advertise-client-urls={etcd_url}"))
            .args([
                // Alone, so nobody needs to know this port.
                "--listen-peer-urls=http://127.0.0.1:0",
                "--unsafe-no-fsync",
                "--log-level=warn",
                // 8 GiB: benches fill more than the default 2.
                "--quota-backend-bytes=8589934592",
            ]);
        let lab = Self {
            directory,
            keep: options.keep,
            reaper: Arc::new(reaper),
            etcd_url,
            etcd: Mutex::new(None),
            etcd_program: program,
            etcd_port: port,
        };
        lab.start_etcd().await?;
        Ok(lab)
    }

    /// Starts etcd with what its directory holds, and returns when it answers. One that runs is killed first.
    ///
    /// # Errors
    /// When it does not come up; the message ends with its last lines.
    pub async fn start_etcd(&self) -> anyhow::Result<()> {
        self.stop_etcd();
        let mut process = self.etcd_program.start(&self.directory, &self.reaper)?;
        let port = self.etcd_port.number();
        let ready = wait_for(READY_DEADLINE, "etcd", async || etcd::health(port).await).await;
        ready.with_context(|| process.last_lines())?;
        anyhow::ensure!(process.is_running(), "etcd ended\n{}", process.last_lines());
        *self.etcd.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    /// Kills etcd (SIGKILL). Its API servers answer no more; what they had written stays in [`Lab::etcd_directory`].
    pub fn stop_etcd(&self) {
        *self.etcd.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// All that etcd holds: a copy of it that is made while it is stopped is a backup.
    pub fn etcd_directory(&self) -> PathBuf {
        self.directory.join("etcd")
    }

    /// Starts an API server with the default options, and returns when it is ready. Several at once are faster:
    /// [`Lab::clusters`].
    pub async fn cluster(&self, name: &str) -> anyhow::Result<Cluster> {
        self.cluster_with(name, &ClusterOptions::default()).await
    }

    /// Starts an API server. The name is also its prefix in etcd and its directory in the lab, and a name that was
    /// used before in this lab is an error.
    pub async fn cluster_with(&self, name: &str, options: &ClusterOptions) -> anyhow::Result<Cluster> {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        anyhow::ensure!(!name.is_empty() && name.chars().all(word), "cluster name {name:?}: a-z, 0-9 and - only");
        anyhow::ensure!(!self.directory.join(name).exists(), "the lab has {name:?} already");
        Cluster::start(name, options, &self.etcd_url, &self.directory, &self.reaper)
            .await
            .with_context(|| format!("cannot start cluster {name}"))
    }

    /// Starts several API servers at once, with the default options, and returns them in this order when all are ready.
    pub async fn clusters(&self, names: &[&str]) -> anyhow::Result<Vec<Cluster>> {
        self.clusters_with(names, &ClusterOptions::default()).await
    }

    /// Starts several API servers at once, alike, and returns them in this order when all are ready.
    pub async fn clusters_with(&self, names: &[&str], options: &ClusterOptions) -> anyhow::Result<Vec<Cluster>> {
        try_join_all(names.iter().map(|name| self.cluster_with(name, options))).await
    }

    /// Starts a program beside the clusters, with its output in `<name>.log` in the lab's directory.
    pub fn start_process(&self, program: &Program) -> anyhow::Result<Process> {
        let process = program.start(&self.directory, &self.reaper)?;
        obituary::writes(process.log_path().to_owned());
        Ok(process)
    }

    /// The lab's directory: logs are there, and tests put their files there.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Compacts etcd: API servers can tell nobody any more what was before now, unless they remember it themselves. Returns
    /// the revision of now.
    ///
    /// # Errors
    /// When etcd does not answer or refuses.
    pub async fn compact(&self) -> anyhow::Result<u64> {
        etcd::compact(self.etcd_port.number()).await
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.reaper.end();
        if self.keep {
            eprintln!("harness: kept {}", self.directory.display());
        }
    }
}

/// Makes the directory, which must be new: it is removed with everything in it at the end.
fn make_directory(asked: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let directory =
        asked.unwrap_or_else(|| env::temp_dir().join(format!("harness-{}-{:016x}", process::id(), random())));
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    fs::create_dir(&directory).with_context(|| format!("cannot make {} anew", directory.display()))?;
    // Absolute, for programs with another working directory.
    fs::canonicalize(&directory).with_context(|| format!("cannot find {}", directory.display()))
}
