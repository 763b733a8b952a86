//! The whole on a real node: operator and broker from images, as a platform team installs and uses them.
//!
//! `test/node/run.sh` builds what is needed and starts this in namespaces of its own.

mod brokers;
mod command;
mod containerd;
mod denied;
mod holders;
mod install;
mod inventory;
mod kills;
mod kubectl;
mod kubelet;
mod load;
mod main_job;
mod node;
mod options;
mod removal;
mod report;
mod rollout;
mod scale;
mod troubles;
mod world;

use std::{process::ExitCode, time::Duration};

use example_stage::Screen;

use crate::{options::Options, removal::Before, world::World};

/// How long a fact may take on a machine that has other things to do: other suites run beside this one.
const DEADLINE: Duration = Duration::from_mins(4);
/// The same for kubectl.
const TIMEOUT: &str = "--timeout=4m";

#[tokio::main]
async fn main() -> ExitCode {
    let screen = Screen::new();
    match run(&screen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.say(&format!("\n{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(screen: &Screen) -> anyhow::Result<()> {
    let options = Options::read()?;
    screen.heading("Clusters");
    let what = "hub with two nodes (kubelet, containerd), homer, internal-corp, corp-com";
    let world = screen.step(what, World::start(&options)).await?;
    let played = Box::pin(play(&world, screen)).await;
    if let Err(error) = &played {
        screen.say(&format!("\n{error:#}"));
        report::show(&world, screen).await;
    }
    played
}

/// The whole, in its order. Each step builds on those before.
async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    let operator = inventory::inventory(&world.hub.client).await?;
    let broker = install::play(world, screen).await?;
    main_job::play(world, screen).await?;
    kills::play(world, screen).await?;
    rollout::play(world, screen).await?;
    scale::play(world, screen).await?;
    rollout::play(world, screen).await?;
    troubles::play(world, screen).await?;
    rollout::play(world, screen).await?;
    denied::play(world, screen).await?;
    removal::play(world, screen, &Before { operator, broker }).await?;
    denied::at_the_end(world, screen).await?;
    screen.say("\nall checks passed");
    Ok(())
}
