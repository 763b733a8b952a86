//! `demo migration`: a key-value store moves to another provider, while its user goes on using it. Each step is checked.
//!
//! One consumer (`homer`), two providers (`classic` runs version 7, `modern` runs version 8), the broker and its
//! coordination cluster (`hub`), where the Jobs run too. Everything lives in one directory, with a kubeconfig per
//! cluster, and is gone at the end.

mod moves;
mod scene;
mod user;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    Box::pin(moves::play(&scene, stage)).await?;
    stage.suggest(&[
        (&scene.hub, "get migcfg,migrations"),
        (&scene.homer, "get gkv,secret"),
        (&scene.modern, "get gkv,configmap"),
    ])
}
