//! `demo certs`: the whole on real API servers, step by step, each checked.
//!
//! One consumer (`homer`), two providers (`internal-corp`, `corp-com`), the broker and its coordination cluster (`hub`).
//! Everything lives in one directory, with a kubeconfig per cluster, and is gone at the end.

mod arrival;
mod departure;
mod healing;
mod moving;
mod proven;
mod questions;
mod refusal;
mod scene;
mod summary;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order. Each step builds on those before.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    let first = arrival::play(&scene, stage).await?;
    healing::play(&scene, stage, first).await?;
    refusal::play(&scene, stage).await?;
    departure::play(&scene, stage).await?;
    Box::pin(moving::play(&scene, stage)).await?;
    questions::play(stage).await?;
    summary::show(&scene, stage).await
}
