//! `generic-demo`: where machines, databases and clusters are placed, by boundary, weight and capacity. Each step is
//! checked.
//!
//! One consumer (`homer`), two providers (`edge`, a small site, and `region`, a large one) with a `generic-provider` each.

mod capacity;
mod scene;
mod size;
mod weight;

use std::process::ExitCode;

use example_stage::{Stage, show};

use crate::scene::Scene;

#[tokio::main]
async fn main() -> ExitCode {
    show("Places machines, databases and clusters, on real API servers.", &["generic-provider"], play).await
}

async fn play(stage: &Stage) -> anyhow::Result<()> {
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
