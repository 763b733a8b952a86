//! `demo`: the whole on real API servers, step by step, each checked.
//!
//! One consumer (`homer`), two providers (`internal-corp`, `corp-com`), the broker and its coordination cluster (`hub`).
//! Everything lives in one directory, with a kubeconfig per cluster, and is gone at the end.

mod arrival;
mod departure;
mod healing;
mod moving;
mod proven;
mod refusal;
mod scene;
mod summary;

use std::process::ExitCode;

use example_stage::{Stage, show};

use crate::scene::Scene;

#[tokio::main]
async fn main() -> ExitCode {
    show("Shows the resource broker at work on real API servers.", &["cert-provider", "cert-check"], play).await
}

/// The whole piece, in its order. Each step builds on those before.
async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    let first = arrival::play(&scene, stage).await?;
    healing::play(&scene, stage, first).await?;
    refusal::play(&scene, stage).await?;
    departure::play(&scene, stage).await?;
    Box::pin(moving::play(&scene, stage)).await?;
    summary::show(&scene, stage).await
}
