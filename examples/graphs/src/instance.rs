//! A user makes an instance, and objects come of it in their order.

use anyhow::Context as _;
use example_stage::{
    DEADLINE, Place, Stage,
    thing::{Thing, message},
};
use harness::wait_for;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::scene::Scene;

/// The instance that most of the demo is about.
pub(crate) const SHOP: &str = "shop";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("An instance");
    stage.step("a user wants WebApplication shop", homer.apply(include_str!("../consumer/shop.yaml"))).await?;
    let shop = shop(homer);
    let what = "settings and pages are made, then the Deployment; the Service waits until that is ready";
    let waiting = stage.step(what, waiting(homer, &shop)).await?;
    stage.screen.detail(&format!("state: IN_PROGRESS, ResourcesReady: {waiting}"));
    let what = "the Deployment says that its pods are there (homer has no node: the demo says it in its place)";
    stage.step(what, available(homer, 2)).await?;
    let active = stage.step("now the Service; the instance is ACTIVE", active(homer, &shop)).await?;
    stage.screen.detail(&format!("status.address: {}", active["status"]["address"]));
    stage.screen.detail(&format!("status.pages: {}", active["status"]["pages"]));
    let absent = active["status"].get("url").is_none() && homer.list::<Ingress>().await?.is_empty();
    anyhow::ensure!(absent, "expected no Ingress and no status.url, found {}", active["status"]);
    stage.screen.detail(&stage.kubectl(homer, &["get", "deploy,svc,cm", "-l", "kro.run/instance-name=shop"]).await?);
    Ok(())
}

/// The instance.
pub(crate) fn shop(homer: &Place) -> Thing {
    Thing::instance(homer, "WebApplication", SHOP)
}

async fn waiting(homer: &Place, shop: &Thing) -> anyhow::Result<String> {
    let says = |seen: &Value| message(seen, "ResourcesReady", "False").map(str::to_owned);
    let waits = |seen: &Value| says(seen).is_some_and(|told| told.contains("deployment"));
    let seen = shop.until("waiting for its Deployment", waits).await?;
    anyhow::ensure!(seen["status"]["state"] == "IN_PROGRESS", "state {}", seen["status"]["state"]);
    let configs = config_maps(homer).await?;
    anyhow::ensure!(configs == ["shop-page-bread", "shop-page-cake", "shop-settings"], "ConfigMaps {configs:?}");
    let deployment = homer.api::<Deployment>().get(SHOP).await?;
    anyhow::ensure!(deployment.spec.and_then(|spec| spec.replicas) == Some(2), "the default is 2 replicas");
    let service = homer.api::<Service>().get_opt(SHOP).await?;
    anyhow::ensure!(service.is_none(), "expected no Service before the Deployment is ready");
    says(&seen).context("a message")
}

async fn active(homer: &Place, shop: &Thing) -> anyhow::Result<Value> {
    let seen = shop.until_active(|_| true).await?;
    let service = homer.api::<Service>().get(SHOP).await?;
    let spec = service.spec.context("a Service has a spec")?;
    let selector = spec.selector.unwrap_or_default();
    anyhow::ensure!(selector.get("app").map(String::as_str) == Some(SHOP), "the Service selects {selector:?}");
    let address = spec.cluster_ip.context("the API server gave no address")?;
    let expected = json!({"address": address, "available": 2, "pages": ["shop-page-bread", "shop-page-cake"]});
    for (field, value) in expected.as_object().into_iter().flatten() {
        anyhow::ensure!(seen["status"][field] == *value, "status.{field} is {}", seen["status"][field]);
    }
    Ok(seen)
}

/// What a Deployment's controller would say of it, once pods run.
pub(crate) async fn available(homer: &Place, replicas: i32) -> anyhow::Result<()> {
    let what = format!("Deployment {SHOP} to want {replicas} replicas");
    let deployments: Api<Deployment> = homer.api();
    let deployment = wait_for(DEADLINE, &what, async || {
        let seen = deployments.get(SHOP).await?;
        let wanted = seen.spec.as_ref().and_then(|spec| spec.replicas);
        anyhow::ensure!(wanted == Some(replicas), "it wants {wanted:?}");
        Ok(seen)
    })
    .await?;
    let status = json!({"status": {
        "observedGeneration": deployment.metadata.generation,
        "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
    }});
    deployments.patch_status(SHOP, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// Names of the ConfigMaps that shop became, sorted.
pub(crate) async fn config_maps(homer: &Place) -> anyhow::Result<Vec<String>> {
    let ours = ListParams::default().labels(&format!("kro.run/instance-name={SHOP}"));
    let mut names: Vec<_> = homer.api::<ConfigMap>().list(&ours).await?.iter().map(ResourceExt::name_any).collect();
    names.sort();
    Ok(names)
}
