//! Offers that are made to stop the broker.

use broker_api::{AcceptApi, generic::databases::Sql};
use example_stage::Stage;

use crate::scene::{POSTGRES, Scene, served, want};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let what = "it makes AcceptAPIs whose expressions never end, of highest priority: refused, and all are served";
    for told in stage.step(what, bombs(scene)).await? {
        stage.screen.detail(&told);
    }
    Ok(())
}

async fn bombs(scene: &Scene) -> anyhow::Result<Vec<String>> {
    let Scene { tenant_a, tenant_b, shared, rogue, .. } = scene;
    rogue.apply(include_str!("../rogue/bombs.yaml")).await?;
    let mut told = Vec::new();
    for name in ["depth", "loops"] {
        let ready = rogue.until::<AcceptApi>(name, "Ready", |held| held.status == "False").await?;
        told.push(format!("AcceptAPI {name}: Ready=False, {}: {}", ready.reason, shortened(&ready.message)));
    }
    for tenant in [tenant_a, tenant_b] {
        want(tenant, "unharmed", POSTGRES).await?;
        served(tenant, "unharmed").await?;
        shared.copy_from::<Sql>(tenant, "unharmed").await?;
    }
    for name in ["depth", "loops"] {
        rogue.delete::<AcceptApi>(name).await?;
    }
    Ok(told)
}

/// The messages quote the expression.
fn shortened(text: &str) -> String {
    const MOST: usize = 150;
    let short: String = text.chars().take(MOST).collect();
    if text.chars().count() > MOST { format!("{short}…") } else { short }
}
