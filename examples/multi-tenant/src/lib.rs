//! `demo multi-tenant`: two tenants with the same names, one of them hostile, and a provider that is hostile too. Each
//! thing that they try is tried for real, and each must harm nobody.
//!
//! Consumers `tenant-a` and `tenant-b`, providers `shared` and `rogue`, the broker and its coordination cluster `hub`.

mod apart;
mod bombs;
mod provider;
mod scene;
mod sight;
mod size;
mod tenant;

use example_stage::Stage;

use crate::scene::Scene;

/// The whole piece, in its order.
pub async fn play(stage: &Stage) -> anyhow::Result<()> {
    let scene = Box::pin(Scene::build(stage)).await?;
    apart::play(&scene, stage).await?;
    Box::pin(tenant::play(&scene, stage)).await?;
    size::play(&scene, stage).await?;
    provider::play(&scene, stage).await?;
    bombs::play(&scene, stage).await?;
    Box::pin(sight::play(&scene, stage)).await?;
    stage.suggest(&[
        (&scene.tenant_a, "get gsql,secret"),
        (&scene.tenant_a, "events"),
        (&scene.tenant_b, "get gsql,secret"),
        (&scene.shared, "get gsql -L broker.platform-mesh.io/consumer"),
        (&scene.rogue, "get acceptapi"),
        (&scene.rogue, "events"),
        (&scene.hub, "-n resource-broker-clusters get secret -L broker.platform-mesh.io/role"),
    ])
}
