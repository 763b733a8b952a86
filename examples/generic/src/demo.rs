//! `demo generic`: where machines, databases and clusters are placed, by boundary, weight and capacity. Each step is
//! checked.
//!
//! One consumer (`homer`), two providers (`edge`, a small site, and `region`, a large one) with a `generic-provider` each.

mod capacity;
mod scene;
mod size;
mod weight;

use example_stage::Stage;

use scene::Scene;

/// The whole piece, in its order.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    size::play(&scene, stage).await?;
    weight::play(&scene, stage).await?;
    capacity::play(&scene, stage).await?;
    stage.suggest(&[
        (&scene.homer, "get gvm,gkc,gsql"),
        (&scene.homer, "describe gvm mainframe"),
        (&scene.homer, "patch gvm mainframe --type merge -p '{\"spec\":{\"memory\":4096}}'"),
        (&scene.edge, "get acceptapi"),
        (&scene.edge, "patch acceptapi sqls --type merge -p '{\"spec\":{\"cordoned\":true}}'"),
        (&scene.edge, "annotate acceptapi sqls broker.platform-mesh.io/drain=true"),
    ])
}
