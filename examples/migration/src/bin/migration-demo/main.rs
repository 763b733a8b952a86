//! `migration-demo`: a key-value store moves to another provider, while its user goes on using it. Each step is checked.
//!
//! One consumer (`homer`), two providers (`classic` runs version 7, `modern` runs version 8), the broker and its
//! coordination cluster (`hub`), where the Jobs run too. Everything lives in one directory, with a kubeconfig per
//! cluster, and is gone at the end.

mod moves;
mod place;
mod user;
mod world;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use harness::{Lab, LabOptions};

use crate::world::World;

/// How long a fact may take on a machine that has other things to do.
const DEADLINE: Duration = Duration::from_mins(1);

/// Shows a migration on real API servers.
#[derive(Parser)]
struct Args {
    /// Where kubeconfigs, logs and data live while the demo runs. Must not exist; removed at the end.
    #[arg(long, default_value = ".demo")]
    directory: PathBuf,
    /// End after the checks, with exit code 0 when all of them passed.
    #[arg(long, env = "ONCE", value_parser = clap::builder::FalseyValueParser::new())]
    once: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    // Whichever future loses is dropped, and with it the lab: that is the whole cleaning up.
    let ended = tokio::select! {
        ended = Box::pin(run(&args)) => ended,
        told = tokio::signal::ctrl_c() => told.map_err(Into::into),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            for cause in error.chain() {
                println!("{cause}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> anyhow::Result<()> {
    let options = LabOptions { directory: Some(args.directory.clone()), ..LabOptions::default() };
    let lab = Lab::start(options).await?;
    let played = Box::pin(play(&lab)).await;
    if let Err(error) = played {
        let log = std::fs::read_to_string(lab.directory().join("resource-broker.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(30)..].join("\n");
        return Err(error.context(format!("last lines of the broker's log:\n{last}\n")));
    }
    println!("all checks passed");
    if !args.once {
        println!("Ctrl-C ends everything and removes it. Try:");
        for (cluster, what) in [("hub", "get migcfg,migrations"), ("homer", "get gkv,secret"), ("modern", "get gkv,cm")]
        {
            println!("  kubectl --kubeconfig {}/{cluster}.kubeconfig {what}", args.directory.display());
        }
        std::future::pending::<()>().await;
    }
    Ok(())
}

async fn play(lab: &Lab) -> anyhow::Result<()> {
    let world = Box::pin(World::build(lab)).await?;
    Box::pin(moves::play(&world)).await
}

/// Does the work of a step and says so.
async fn step<T>(what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let done = Box::pin(work).await;
    println!("{} {what}", if done.is_ok() { "ok    " } else { "FAILED" });
    done
}
