//! `demo provider`: somebody copies the template beside this, has a provider running, and brings it to a broker. Each step is
//! checked.
//!
//! Two providers serve one kind: `theseus` with the template's controller, `nestor` without code, by its graph. All that is applied
//! comes from the copy. Only the controller does not: to compile that there would take as long as all else together.

mod copied;
mod delivery;
mod graph;
mod offer;
mod scene;
mod service;
mod summary;
mod trial;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order. Each step builds on those before.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    let tried = Box::pin(trial::play(&scene, stage)).await?;
    Box::pin(offer::play(&scene, stage)).await?;
    Box::pin(service::play(&scene, stage)).await?;
    let defined = Box::pin(graph::play(&scene, stage)).await?;
    summary::show(&scene, stage, [tried, defined]).await
}
