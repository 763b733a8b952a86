//! `job-worker`: runs the Jobs of migrations where no node does, as in the lab of the demo.

use std::path::PathBuf;

use clap::Parser;
use migration_example::{cluster, job::Programs, worker};

/// Runs the Jobs of migrations in a cluster that has no nodes.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Kubeconfig of the compute cluster. In a pod, or with $KUBECONFIG, it can be left out.
    #[arg(long, env = "JOB_WORKER_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// A program that Jobs may run, as NAME=PATH: their `command` begins with the name. Repeatable.
    #[arg(long = "program", value_parser = program, required = true)]
    programs: Vec<(String, PathBuf)>,
}

fn program(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("expected NAME=PATH, such as keyvalue-migrate=target/debug/keyvalue-migrate".to_owned()),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    cluster::set_up_process();
    let client = cluster::client(args.kubeconfig.as_deref()).await?;
    let programs: Programs = args.programs.into_iter().collect();
    tracing::info!(programs = ?programs.keys().collect::<Vec<_>>(), "running the Jobs of migrations");
    worker::run(client, programs).await;
    Ok(())
}
