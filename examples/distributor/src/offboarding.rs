//! A spoke is let go. What it has stays.

use broker_api::graphs::keys::{OFFBOARD, TRUE};
use example_stage::{Place, Stage, installation::CLUSTERS};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    progress::{follow, is_done},
    scene::{SHOPS, Scene, revision},
    shop::{self, ADDED, WINDOW},
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, paris, tokyo, .. } = scene;
    stage.screen.heading("A spoke goes");
    let left = async {
        let secrets = Api::<Secret>::namespaced(hub.client.clone(), CLUSTERS);
        let patch = Patch::Merge(json!({"metadata": {"labels": {OFFBOARD: TRUE}}}));
        secrets.patch(paris.name(), &PatchParams::default(), &patch).await?;
        scene.until_distributed("shop", "True", "2/2 clusters").await
    };
    let told = stage.step("hub: label offboard=true on the Secret of paris", left).await?;
    stage.screen.detail(&format!("Distributed: {told}"));
    let kept = async {
        shop::greet(paris, "Nobody listens").await?;
        // What comes after that is served elsewhere: nobody has looked at it in paris.
        shop::greet(tokyo, "Somebody does").await?;
        shop::shows(tokyo, "Somebody does").await?;
        is_left_alone(paris).await
    };
    stage.step("paris: kind, shop and children stay as they are, and an edit is nobody's business", kept).await?;
    let further = async {
        scene.aim(None).await?;
        follow(scene, stage, "done with revision 2", |status| is_done(status, 2)).await?;
        shop::shows(tokyo, &format!("Somebody does{ADDED}")).await?;
        is_left_alone(paris).await
    };
    stage.step("hub: all get the newest revision again; paris is none of them, and keeps what it has", further).await
}

/// As it was before it was let go.
async fn is_left_alone(paris: &Place) -> anyhow::Result<()> {
    let runs = revision(paris, SHOPS).await?;
    anyhow::ensure!(runs.as_deref() == Some("1"), "paris runs revision {runs:?}");
    let seen = shop::shop(paris).get().await?;
    anyhow::ensure!(seen["status"]["window"] == "Open as ever", "status {}", seen["status"]);
    let window = paris.api::<ConfigMap>().get(WINDOW).await?.data.unwrap_or_default();
    anyhow::ensure!(window.get("text").is_some_and(|text| text == "Open as ever"), "{window:?}");
    Ok(())
}
