//! `kubectl broker`: where objects are, why, and what they wait for. Owns what people see; decides nothing: `why` is the
//! broker's own decision, made in this process by the broker's own code.
#![forbid(unsafe_code)]
#![allow(clippy::format_push_string, reason = "text for people, a line at a time: what is said reads as it is printed")]

mod access;
mod age;
mod answers;
mod arguments;
mod clock;
mod cluster;
mod cluster_secret;
mod clusters;
mod complete;
mod completions;
mod credentials;
mod deployed;
mod diff;
mod difference;
mod distribution;
mod doctor;
mod held;
mod identity;
mod instance;
mod join;
mod kubeconfig;
mod leave;
mod lists;
mod manifest;
mod moves;
mod names;
mod object;
mod onlooker;
mod output;
mod paint;
mod permissions;
mod preflight;
mod programs;
mod providers;
mod rebalance;
mod removal;
mod reply;
mod resource;
mod rights;
mod rollouts;
mod rows;
mod schema;
mod simulate;
mod sought;
mod standing;
mod state;
mod table;
mod trace;
mod tree;
mod wait;
mod whose;
mod why;

use std::{io::Write as _, process::ExitCode, time::Duration};

use clap::{CommandFactory as _, Parser as _};

use crate::{
    arguments::{Arguments, Command},
    clusters::Clusters,
    diff::Diff,
    lists::Listed,
    output::Output,
    paint::{Paint, harmless},
    programs::{json, yaml},
    sought::Found,
};

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);

/// Exit code of `diff` where something differs, as of `diff` itself.
const DIFFERS: u8 = 1;

#[tokio::main]
async fn main() -> ExitCode {
    // One TLS provider for the whole process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            let lines: Vec<String> = format!("error: {error:#}").lines().map(harmless).collect();
            eprintln!("{}", lines.join("\n"));
            ExitCode::from(2)
        }
    }
}

fn print(text: &str) {
    // Whoever reads it may have had enough: `kubectl broker objects … | head`.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What could not be known goes beside what is: a table stays a table.
fn print_list(Listed { text, unknown }: &Listed) -> ExitCode {
    print(text);
    for line in unknown {
        eprintln!("unknown: {}", harmless(line));
    }
    if unknown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(Arguments { access, command }: Arguments) -> anyhow::Result<ExitCode> {
    match &command {
        Command::Why { sought, output, broker_namespace } => {
            print(&why::why(&access, sought, *output, broker_namespace).await?);
            return Ok(ExitCode::SUCCESS);
        }
        Command::Simulate(asked) => return simulate::simulate(&access, asked).await,
        Command::Doctor(asked) => return doctor::doctor(&access, asked).await,
        Command::Join(asked) => return join::join(&access, asked).await,
        Command::Leave(asked) => {
            leave::leave(&access, asked).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Schema { command } => {
            print(&schema::tell(command.as_deref())?);
            return Ok(ExitCode::SUCCESS);
        }
        Command::Completions { shell } => {
            print(completions::script(*shell));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Complete { words } => {
            print(&complete::candidates(Arguments::command(), words).await);
            return Ok(ExitCode::SUCCESS);
        }
        Command::Man(asked) => {
            completions::manual(Arguments::command(), asked)?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let clusters = Clusters::connect(&access).await?;
    match command {
        Command::Why { .. }
        | Command::Simulate(_)
        | Command::Doctor(_)
        | Command::Join(_)
        | Command::Leave(_)
        | Command::Schema { .. }
        | Command::Completions { .. }
        | Command::Complete { .. }
        | Command::Man(_) => {}
        Command::Trace { sought, output, watch } => {
            let look = async || {
                let found = Found::find(&clusters, &sought).await?;
                let node = trace::trace(&clusters, &found).await;
                let text = match output {
                    Output::Text | Output::Wide => node.draw(Paint::of_output()),
                    Output::Json => json(&node)?,
                    Output::Yaml => yaml(&node)?,
                };
                Ok((node.ageless(), Listed { text, unknown: Vec::new() }))
            };
            return watched(watch, look).await;
        }
        Command::Diff { sought, output } => {
            let diff = Diff::of(&clusters, &Found::find(&clusters, &sought).await?).await?;
            print(&match output {
                Output::Text | Output::Wide => diff.draw(),
                Output::Json => json(&diff)?,
                Output::Yaml => yaml(&diff)?,
            });
            return Ok(if diff.differs() { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS });
        }
        Command::Clusters { printing } => return Ok(print_list(&lists::clusters(&clusters, &printing).await?)),
        Command::AcceptApis { printing } => return Ok(print_list(&lists::accept_apis(&clusters, &printing).await?)),
        Command::Objects { kind, printing } => {
            return Ok(print_list(&lists::objects(&clusters, &kind, &printing).await?));
        }
        Command::Migrations { printing, watch } => {
            return watched(watch, async || {
                let (listed, versions) = lists::migrations(&clusters, &printing).await?;
                Ok((versions, listed))
            })
            .await;
        }
        Command::Graphs { printing } => return Ok(print_list(&rollouts::graphs(&clusters, &printing).await?)),
        Command::Rollouts { printing } => return Ok(print_list(&rollouts::list(&clusters, &printing).await?)),
        Command::Rollout(rollout) => rollouts::ask(&clusters, &rollout).await?,
        Command::Cordon(provider) => {
            providers::ask(&clusters, &provider, providers::Ask::Cordon).await?;
        }
        Command::Uncordon(provider) => {
            providers::ask(&clusters, &provider, providers::Ask::Uncordon).await?;
        }
        Command::Drain { provider, wait } => providers::drain(&clusters, &provider, wait).await?,
        Command::Rebalance(asked) => rebalance::rebalance(&access, &clusters, &asked).await?,
        Command::Migrate { sought, to, migration_namespace, wait } => {
            moves::migrate(&clusters, &sought, &to, migration_namespace.as_deref(), wait).await?;
        }
        Command::Pause(which) => {
            moves::ask(&clusters, &which, moves::Ask::Pause).await?;
        }
        Command::Resume(which) => moves::follow(&clusters, &which, moves::Ask::Resume).await?,
        Command::Abort(which) => moves::follow(&clusters, &which, moves::Ask::Abort).await?,
        Command::Retry(which) => moves::follow(&clusters, &which, moves::Ask::Retry).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what is looked up; `watch`: again and again, whenever what comes beside it is another. Who watches is told once of
/// each way in which it cannot be looked up, and goes on watching.
async fn watched<T: PartialEq>(
    watch: bool,
    look: impl AsyncFn() -> anyhow::Result<(T, Listed)>,
) -> anyhow::Result<ExitCode> {
    let (mut last, listed) = look().await?;
    let code = print_list(&listed);
    if !watch {
        return Ok(code);
    }
    let mut trouble = None;
    loop {
        tokio::time::sleep(LOOK).await;
        match look().await {
            Ok((now, listed)) => {
                // What was told in between is followed by how it is, even if that is the same.
                if trouble.take().is_some() || last != now {
                    print_list(&listed);
                    last = now;
                }
            }
            Err(error) => {
                let told = format!("{error:#}");
                if trouble.as_ref() != Some(&told) {
                    eprintln!("{}", harmless(&told));
                    trouble = Some(told);
                }
            }
        }
    }
}
