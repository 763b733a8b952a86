//! The whole on a real node: operator and broker from images, as a platform team installs them.
//!
//! `test/node/run.sh` builds what is needed and starts this in namespaces of its own.

mod command;
mod containerd;
mod kubectl;
mod kubelet;
mod node;
mod options;
mod trial;
mod world;

use std::{process::ExitCode, time::Duration};

use example_stage::Screen;

use crate::{options::Options, world::World};

/// How long a fact may take on a machine that has other things to do.
const DEADLINE: Duration = Duration::from_mins(1);

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
    screen.heading("A cluster with nodes");
    let what =
        "hub (API server, controller manager, scheduler, two kubelets with containerd), homer, internal-corp, corp-com";
    let world = screen.step(what, World::start(&options)).await?;
    trial::play(&world, screen).await
}
