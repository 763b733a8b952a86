//! People change and delete what an instance became, and it comes right again.

use anyhow::Context as _;
use example_stage::{DEADLINE, Place, Stage};
use harness::wait_for;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
};
use kube::ResourceExt as _;
use serde_json::json;

use crate::{
    instance::{SHOP, shop},
    scene::Scene,
};

const BREAD: &str = "shop-page-bread";
const NOTE: &str = "example.org/note";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("People change things by hand");
    let note = json!({"metadata": {"annotations": {NOTE: "mine"}}});
    let noted = async { homer.edit::<Deployment>(SHOP, note).await.map(drop) };
    stage.step("somebody writes an annotation on the Deployment", noted).await?;
    stage.step("somebody edits a page: it is put right", edited(homer)).await?;
    stage
        .step("somebody deletes the Service: it comes back, and the status has its new address", deleted(homer))
        .await?;
    let stays = async {
        let deployment = homer.api::<Deployment>().get(SHOP).await?;
        anyhow::ensure!(deployment.annotations().contains_key(NOTE), "it is gone");
        Ok(())
    };
    stage.step("the annotation is still there: what no template says is nobody's business", stays).await
}

async fn edited(homer: &Place) -> anyhow::Result<()> {
    let before: ConfigMap = homer.api().get(BREAD).await?;
    let spoiled: ConfigMap = homer.edit(BREAD, json!({"data": {"text": "Sold out"}})).await?;
    anyhow::ensure!(spoiled.data != before.data, "nothing was changed");
    wait_for(DEADLINE, &format!("ConfigMap {BREAD} to be as it was"), async || {
        let seen: ConfigMap = homer.api().get(BREAD).await?;
        anyhow::ensure!(seen.data == before.data, "{:?}", seen.data);
        Ok(())
    })
    .await
}

async fn deleted(homer: &Place) -> anyhow::Result<()> {
    let before = homer.api::<Service>().get(SHOP).await?.uid();
    homer.delete::<Service>(SHOP).await?;
    let service = wait_for(DEADLINE, &format!("another Service {SHOP}"), async || {
        let seen: Service = homer.api().get(SHOP).await?;
        anyhow::ensure!(seen.uid() != before, "it is still the one that was deleted");
        Ok(seen)
    })
    .await?;
    let address = service.spec.and_then(|spec| spec.cluster_ip).context("the API server gave no address")?;
    shop(homer).until_active(|seen| seen["status"]["address"] == address.as_str()).await.map(drop)
}
