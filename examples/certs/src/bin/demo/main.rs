//! `demo`: the whole on real API servers, step by step, each checked.
//!
//! One consumer (`homer`), two providers (`internal-corp`, `corp-com`), the broker and its coordination cluster (`hub`).
//! Everything lives in one directory, with a kubeconfig per cluster, and is gone at the end.

mod arrival;
mod departure;
mod garbage;
mod healing;
mod moving;
mod place;
mod refusal;
mod screen;
mod stage;
mod summary;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Parser;
use harness::{Lab, LabOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::{screen::Screen, stage::Stage};

/// How long a fact may take on a machine that has other things to do.
const DEADLINE: Duration = Duration::from_mins(1);
/// Lines of the broker's log that are shown when a step fails.
const LOG_LINES: usize = 30;

/// Shows the resource broker at work on real API servers.
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
    let screen = Screen::new();
    // Whichever future loses is dropped before its branch is left, and with it the lab: that is the whole cleaning up.
    let ended = tokio::select! {
        ended = run(&args, &screen) => ended,
        told = told_to_end() => told.map(|()| {
            screen.say("everything is stopped and removed");
            ExitCode::SUCCESS
        }),
    };
    ended.unwrap_or_else(|error| {
        screen.say(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

async fn run(args: &Args, screen: &Screen) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !args.directory.exists(),
        "{} exists: another demo is running, or one could not clean up; end it, or remove the directory",
        args.directory.display()
    );
    // Before anything starts: each says how it is built.
    for program in ["resource-broker", "cert-provider", "cert-check", "job-worker"] {
        harness::binary(program)?;
    }
    harness::kubectl_binary()?;
    let options = LabOptions { directory: Some(args.directory.clone()), ..LabOptions::default() };
    let lab = Lab::start(options).await.context("cannot start etcd")?;
    let stage = match play(&lab, screen).await {
        Ok(stage) => stage,
        Err(error) => {
            tell_failure(&lab, screen, &error);
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.once {
        screen.say("all checks passed");
        return Ok(ExitCode::SUCCESS);
    }
    screen.say("Ctrl-C ends everything and removes it.");
    stay(stage, screen).await
}

/// The whole piece, in its order. Each step builds on those before.
async fn play(lab: &Lab, screen: &Screen) -> anyhow::Result<Stage> {
    let stage = Box::pin(stage::build(lab, screen)).await?;
    let first = arrival::play(&stage, screen).await?;
    healing::play(&stage, screen, first).await?;
    refusal::play(&stage, screen).await?;
    departure::play(&stage, screen).await?;
    Box::pin(moving::play(&stage, screen)).await?;
    summary::show(&stage, lab, screen).await?;
    Ok(stage)
}

/// Which step failed was printed where it failed; this adds what was expected, what was seen, and what the broker said.
fn tell_failure(lab: &Lab, screen: &Screen, error: &anyhow::Error) {
    screen.say("");
    for (depth, cause) in error.chain().enumerate() {
        screen.say(&format!("{}{cause}", "  ".repeat(depth)));
    }
    let log = lab.directory().join(format!("{}.log", stage::BROKER));
    match std::fs::read_to_string(&log) {
        Ok(text) => {
            let lines: Vec<_> = text.lines().collect();
            screen.say(&format!("\nlast lines of the broker's log ({} in all):", lines.len()));
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                screen.say(&format!("  {line}"));
            }
        }
        Err(_) => screen.say("\nthe broker was not started yet"),
    }
}

/// Until it is told to end, or one of its programs ends by itself.
async fn stay(mut stage: Stage, screen: &Screen) -> anyhow::Result<ExitCode> {
    let mut look = tokio::time::interval(Duration::from_secs(1));
    loop {
        look.tick().await;
        for process in stage.processes() {
            if let Some(status) = process.exit_status()? {
                let log = process.log_path().display();
                screen.say(&format!("{} ended: {status}; its log: {log}", process.name()));
                return Ok(ExitCode::FAILURE);
            }
        }
    }
}

async fn told_to_end() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
