//! API servers, and the etcd of the real ones.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use anyhow::Context as _;
use futures::future::try_join_all;
use tokio::sync::OnceCell;

use crate::cluster::{Cluster, ClusterOptions, Place};
use crate::etcd::{self, Etcd};
use crate::install_tls;
use crate::obituary;
use crate::port::random;
use crate::process::{Process, Program};
use crate::reaper::Reaper;

/// Where a lab lives and what stays of it.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Its directory, which must not exist yet. Default: a new one in the directory for temporary files.
    pub directory: Option<PathBuf>,
    /// Whether the directory stays when the lab ends. Default: whether `HARNESS_KEEP` is `1`.
    pub keep: bool,
    /// What its API servers are. Default: real ones.
    pub servers: Servers,
}

/// What API servers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// kube-apiserver, and etcd.
    #[default]
    Real,
    /// The model of `test/sim` behind sockets. It computes a tenth, and knows nothing of workloads, nodes, rules of CRDs,
    /// webhooks and admission policies.
    Model,
}

impl Servers {
    /// The model, unless somebody wants to see all tests on real ones: `SERVERS=real`.
    ///
    /// # Errors
    /// When `SERVERS` is anything else.
    pub fn modelled() -> anyhow::Result<Self> {
        match env::var("SERVERS").unwrap_or_default().as_str() {
            "" => Ok(Self::Model),
            "real" => Ok(Self::Real),
            other => anyhow::bail!("SERVERS is {other:?}: real, or nothing"),
        }
    }
}

impl Default for LabOptions {
    fn default() -> Self {
        let keep = env::var_os("HARNESS_KEEP").is_some_and(|value| value == "1");
        Self { directory: None, keep, servers: Servers::default() }
    }
}

/// Clusters, the etcd of those that are real, and the programs beside them.
///
/// It needs a runtime only while its methods run, so tests that each have their own can share one from a `static`
/// `tokio::sync::OnceCell`. Dropping it, or the end of the process in whatever way (SIGKILL, a panic, a `static` that
/// is never dropped), ends everything that it started and removes its directory. Children that leave their process
/// group on purpose escape that; none here does.
#[derive(Debug)]
pub struct Lab {
    directory: PathBuf,
    keep: bool,
    servers: Servers,
    reaper: Arc<Reaper>,
    /// From the first real API server on.
    etcd: OnceCell<Etcd>,
}

impl Lab {
    /// One without clusters. Where they are to be real ones, etcd runs when this returns.
    ///
    /// # Errors
    /// When the directory exists, or etcd cannot be started; where its binary is missing it says how to build it.
    pub async fn start(options: LabOptions) -> anyhow::Result<Self> {
        install_tls();
        let directory = make_directory(options.directory)?;
        let reaper = Arc::new(Reaper::start((!options.keep).then_some(directory.as_path()))?);
        let lab = Self { directory, keep: options.keep, servers: options.servers, reaper, etcd: OnceCell::new() };
        if lab.servers == Servers::Real {
            lab.etcd().await?;
        }
        Ok(lab)
    }

    /// Its etcd, which the first who asks starts.
    async fn etcd(&self) -> anyhow::Result<&Etcd> {
        self.etcd.get_or_try_init(|| Etcd::start(&self.directory, &self.reaper)).await
    }

    /// Starts etcd with what its directory holds, and returns when it answers. One that runs is killed first.
    ///
    /// # Errors
    /// When the binaries are missing (says how to build them), or it does not come up; the message ends with its last lines.
    pub async fn start_etcd(&self) -> anyhow::Result<()> {
        self.etcd().await?.start_again(&self.directory, &self.reaper).await
    }

    /// Kills etcd (SIGKILL). Its API servers answer no more; what they had written stays in [`Lab::etcd_directory`].
    pub fn stop_etcd(&self) {
        if let Some(etcd) = self.etcd.get() {
            etcd.stop();
        }
    }

    /// All that etcd holds: a copy of it that is made while it is stopped is a backup.
    pub fn etcd_directory(&self) -> PathBuf {
        etcd::data(&self.directory)
    }

    /// Starts an API server with the default options, and returns when it is ready. Several at once are faster:
    /// [`Lab::clusters`].
    pub async fn cluster(&self, name: &str) -> anyhow::Result<Cluster> {
        self.cluster_with(name, &ClusterOptions::default()).await
    }

    /// Starts an API server. The name is also its directory in the lab, and its prefix in etcd, and a name that was
    /// used before in this lab is an error.
    pub async fn cluster_with(&self, name: &str, options: &ClusterOptions) -> anyhow::Result<Cluster> {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        anyhow::ensure!(!name.is_empty() && name.chars().all(word), "cluster name {name:?}: a-z, 0-9 and - only");
        anyhow::ensure!(!self.directory.join(name).exists(), "the lab has {name:?} already");
        let etcd_url = match self.servers {
            Servers::Model if !options.real => None,
            _ => Some(self.etcd().await?.url()),
        };
        let place = Place { name, directory: &self.directory, reaper: &self.reaper };
        Cluster::start(place, options, etcd_url.as_deref())
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
        anyhow::ensure!(self.servers == Servers::Real, "models have no etcd");
        self.etcd().await?.compact().await
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
