//! `demo graphs`: a kind of one's own, what its instances become, and one whose object a provider in another cluster serves.
//! Each step is checked.
//!
//! One consumer (`homer`), served by `resource-graphs`; one provider (`internal-corp`) with a `cert-provider`; the broker
//! between them, in `hub`. A person's YAML is in the folders beside this one.

mod brokered;
mod change;
mod definition;
mod departure;
mod drift;
mod instance;
mod mistake;
mod questions;
mod scene;
mod summary;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order. Each step builds on those before.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    definition::play(&scene, stage).await?;
    instance::play(&scene, stage).await?;
    change::play(&scene, stage).await?;
    drift::play(&scene, stage).await?;
    mistake::play(&scene, stage).await?;
    brokered::play(&scene, stage).await?;
    questions::play(&scene, stage).await?;
    departure::play(&scene, stage).await?;
    summary::show(&scene, stage).await
}
