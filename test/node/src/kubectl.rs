//! The commands that a person types.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use harness::{Cluster, Lab};
use kube::config::Kubeconfig;
use tokio::process::Command;

use crate::command::run;

/// A user of all clusters in the group system:masters, apart from the harness's and the demo's.
pub(crate) const PERSON: &str = "person";

/// `kubectl` with a context per cluster, in the root of the project, as its README says.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    root: PathBuf,
    path: OsString,
}

impl Kubectl {
    /// Writes the kubeconfig.
    pub(crate) fn new(lab: &Lab, clusters: &[&Cluster]) -> anyhow::Result<Self> {
        let mut all = Kubeconfig::default();
        for cluster in clusters {
            let mut one = Kubeconfig::from_yaml(&cluster.kubeconfig(PERSON)?)?;
            // Merging goes by names, and the user is called the same everywhere.
            for user in &mut one.auth_infos {
                cluster.name().clone_into(&mut user.name);
            }
            for context in one.contexts.iter_mut().filter_map(|named| named.context.as_mut()) {
                context.user = Some(cluster.name().to_owned());
            }
            all = all.merge(one)?;
        }
        let kubeconfig = lab.directory().join("kubeconfig");
        std::fs::write(&kubeconfig, serde_json::to_string(&all)?)?;
        let program = harness::kubectl_binary()?;
        let folder = program.parent().context("kubectl is in no folder")?;
        let paths = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(folder.to_owned()).chain(env::split_paths(&paths)))?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        Ok(Self { program, kubeconfig, root, path })
    }

    /// `kubectl --context CLUSTER ARGUMENTS…`; returns what it prints.
    pub(crate) async fn run(&self, cluster: &str, args: &[&str]) -> anyhow::Result<String> {
        run(self.command(&self.program).args(["--context", cluster]).args(args)).await
    }

    /// `kubectl broker --context CLUSTER ARGUMENTS…`; returns what it prints.
    pub(crate) async fn broker(&self, cluster: &str, args: &[&str]) -> anyhow::Result<String> {
        run(self.command(&harness::binary("kubectl-broker")?).args(["--context", cluster]).args(args)).await
    }

    /// A script of the project, which finds kubectl and the contexts; returns what it prints.
    pub(crate) async fn script(&self, script: &str, args: &[&str]) -> anyhow::Result<String> {
        run(self.command(&self.root.join(script)).args(args)).await
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("KUBECONFIG", &self.kubeconfig).env("PATH", &self.path);
        command
    }
}
