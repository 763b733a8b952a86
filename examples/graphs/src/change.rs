//! The user edits the instance: what is new is made, what changed is written, what is no longer wanted goes.

use anyhow::Context as _;
use example_stage::{Place, Stage};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};

use crate::{
    instance::{SHOP, available, config_maps, shop},
    scene::Scene,
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("Its user edits it");
    let shop = shop(homer);
    let edit = shop.edit(json!({"spec": {
        "replicas": 3,
        "pages": [{"name": "bread", "text": "Rye, wheat and spelt"}, {"name": "pie", "text": "Apple"}],
        "ingress": {"enabled": true},
    }}));
    stage.step("three replicas, page pie instead of cake, an Ingress", edit).await?;
    let changed = async {
        available(homer, 3).await?;
        changed(homer).await
    };
    let seen = stage.step("the Deployment follows; page pie and the Ingress are made, page cake goes", changed).await?;
    stage.screen.detail(&format!("status.url: {}", seen["status"]["url"]));
    let refused = async {
        let edited = shop.edit(json!({"spec": {"replicas": 11}})).await;
        let why = edited.err().context("expected the API server to refuse 11 replicas")?;
        anyhow::ensure!(format!("{why:#}").contains("spec.replicas"), "refused for another reason: {why:#}");
        Ok(())
    };
    stage.step("eleven replicas: the API server refuses them, the schema says 10 at the most", refused).await
}

async fn changed(homer: &Place) -> anyhow::Result<Value> {
    let url = "http://shop.example.org";
    let seen = shop(homer).until_active(|seen| seen["status"]["url"] == url).await?;
    anyhow::ensure!(seen["status"]["available"] == 3, "status.available is {}", seen["status"]["available"]);
    let configs = config_maps(homer).await?;
    anyhow::ensure!(configs == ["shop-page-bread", "shop-page-pie", "shop-settings"], "ConfigMaps {configs:?}");
    let ingress = serde_json::to_value(homer.api::<Ingress>().get(SHOP).await?)?;
    let backend = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
    anyhow::ensure!(*backend == json!({"name": SHOP, "port": {"number": 80}}), "the Ingress leads to {backend}");
    Ok(seen)
}
