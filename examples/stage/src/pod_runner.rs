//! `pod-runner`: runs the pods of a cluster that has no node, as in the labs of the demos.

use std::path::PathBuf;

use crate::{program, runner};
use anyhow::Context as _;
use kube::config::Kubeconfig;

/// Runs the pods of a cluster without nodes as processes of this machine. For demos: nothing is isolated.
#[derive(clap::Args)]
pub struct Args {
    /// Kubeconfig of the cluster, with everything inline.
    #[arg(long, env = "POD_RUNNER_KUBECONFIG")]
    kubeconfig: PathBuf,
    /// A program that pods may run, as NAME=PATH: their image has that name, or their `command` begins with it. Repeatable.
    #[arg(long = "program", value_parser = pair, required = true)]
    programs: Vec<(String, PathBuf)>,
    /// Directory of the programs' logs, and of kubeconfigs for pods that have a ServiceAccount.
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

fn pair(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("expected NAME=PATH, such as demo=target/debug/demo".to_owned()),
    }
}

/// Runs them until it is told to end.
pub async fn run(args: Args) -> anyhow::Result<()> {
    program::set_up_process();
    let client = program::client(Some(&args.kubeconfig)).await?;
    let kubeconfig = Kubeconfig::read_from(&args.kubeconfig);
    let kubeconfig = kubeconfig.with_context(|| format!("kubeconfig {}", args.kubeconfig.display()))?;
    let programs = args.programs.into_iter().collect();
    Box::pin(runner::run(runner::Node { client, kubeconfig, programs, directory: args.directory })).await
}
