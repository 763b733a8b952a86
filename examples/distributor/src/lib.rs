//! `demo distributor`: a kind that is defined once, in the hub, and served in every spoke. Each step is checked.
//!
//! One hub with operator, broker and graphs controller; three spokes (`lima`, `paris`, `tokyo`). `tokyo` is a consumer of the
//! broker, too, and `internal-corp` a provider. A person's YAML is in the folders beside this one.

mod composition;
mod offboarding;
mod onboarding;
mod outage;
mod progress;
mod rollback;
mod rollout;
mod scene;
mod shop;
mod summary;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order. Each step builds on those before.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    onboarding::play(&scene, stage).await?;
    rollout::play(&scene, stage).await?;
    rollback::play(&scene, stage).await?;
    outage::play(&scene, stage).await?;
    composition::play(&scene, stage).await?;
    offboarding::play(&scene, stage).await?;
    summary::show(&scene, stage).await
}
