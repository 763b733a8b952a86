//! The frame of every demo: flags, the lab, what is told when a step fails, and the end.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use harness::{Lab, LabOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    Screen, Stage,
    installation::{BROKER, GRAPHS, OPERATOR},
};

/// How often it is looked whether everything still runs.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// Lines of a program's log that are shown when a step fails.
const LOG_LINES: usize = 30;

/// Flags of every demo.
#[derive(clap::Args)]
pub struct Options {
    /// Where kubeconfigs, logs and data live while the demo runs, .demo-NAME by default. Must not exist; removed at the end.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// End after the checks, with exit code 0 when all of them passed.
    #[arg(long, env = "ONCE", value_parser = clap::builder::FalseyValueParser::new())]
    once: bool,
}

/// Runs the demo of that name: `play` is its story. It stays until it is told to end, unless `--once` is given.
pub async fn show(name: &str, options: Options, play: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>) -> ExitCode {
    // Whichever future loses is dropped before its branch is left, and with it the lab: that is the whole cleaning up.
    let directory = options.directory.unwrap_or_else(|| PathBuf::from(format!(".demo-{name}")));
    let ended = tokio::select! {
        ended = Box::pin(run(&directory, options.once, play)) => ended,
        told = told_to_end() => told.map(|()| {
            println!("\neverything is stopped and removed");
            ExitCode::SUCCESS
        }),
    };
    ended.unwrap_or_else(|error| {
        println!("{error:#}");
        ExitCode::FAILURE
    })
}

async fn run(
    directory: &Path,
    once: bool,
    play: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !directory.exists(),
        "{} exists: this demo is running, or could not clean up; end it, or remove the directory",
        directory.display()
    );
    // Before anything starts: each says how it is built.
    for program in [BROKER, OPERATOR] {
        harness::binary(program)?;
    }
    harness::kubectl_binary()?;
    let lab = LabOptions { directory: Some(directory.to_owned()), ..LabOptions::default() };
    let lab = Lab::start(lab).await.context("cannot start etcd")?;
    let stage = Stage::new(lab, Screen::new());
    if let Err(error) = Box::pin(play(&stage)).await {
        tell_failure(&stage, &error);
        return Ok(ExitCode::FAILURE);
    }
    if once {
        stage.screen.say("all checks passed");
        return Ok(ExitCode::SUCCESS);
    }
    stage.screen.say("Ctrl-C ends everything and removes it.");
    stay(&stage).await
}

/// Which step failed was printed where it failed; this adds what was expected, what was seen, and what the programs said.
fn tell_failure(stage: &Stage, error: &anyhow::Error) {
    let Stage { screen, .. } = stage;
    screen.say("");
    for (depth, cause) in error.chain().enumerate() {
        screen.say(&format!("{}{cause}", "  ".repeat(depth)));
    }
    let told = [GRAPHS, BROKER].map(|program| tell_log(stage, program));
    if !told.contains(&true) && !tell_log(stage, OPERATOR) {
        screen.say("\nneither operator nor broker was started yet");
    }
}

/// Whether the program has said anything.
fn tell_log(stage: &Stage, program: &str) -> bool {
    let text = stage.log(program);
    let lines: Vec<_> = text.lines().collect();
    if lines.is_empty() {
        return false;
    }
    stage.screen.say(&format!("\nlast lines of {program}'s log ({} in all):", lines.len()));
    for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
        stage.screen.say(&format!("  {line}"));
    }
    true
}

/// Until one of the programs ends by itself.
async fn stay(stage: &Stage) -> anyhow::Result<ExitCode> {
    let mut look = tokio::time::interval(LOOK);
    loop {
        look.tick().await;
        if let Some(ended) = stage.ended()? {
            stage.screen.say(&ended);
            return Ok(ExitCode::FAILURE);
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
