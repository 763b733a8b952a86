//! A graph with an object that a provider in another cluster serves. Nothing is special in the graph, nor in the broker.

use anyhow::Context as _;
use broker_api::example::Certificate;
use example_stage::{
    DEADLINE, Place, Stage,
    thing::{Thing, is_served},
};
use harness::wait_for;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt as _;
use serde_json::Value;

use crate::scene::{BROKER_USER, GRAPHS_USER, Scene};

/// The instance, and the Certificate that it becomes.
pub(crate) const BAKERY: &str = "bakery";
/// What the provider's Secret is called in `homer`.
pub(crate) const SECRET: &str = "bakery-tls";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, internal, .. } = scene;
    stage.screen.heading("Graph and broker together");
    let defined = async {
        homer.apply(include_str!("../consumer/securesite.yaml")).await?;
        Thing::definition(homer, "securesite").until("Active", is_served).await
    };
    stage.step("ResourceGraphDefinition securesite: a Certificate, its Secret, a server's settings", defined).await?;
    let since = [homer.cluster.audit().settle().await?, internal.cluster.audit().settle().await?];
    stage.step("a user wants SecureSite bakery", homer.apply(include_str!("../consumer/bakery.yaml"))).await?;
    let copy =
        stage.step("the graph makes a Certificate in homer, the broker its copy in internal-corp", copied(scene));
    stage.screen.detail(&format!("copy: {}", copy.await?));
    let what = "the provider issues it; its Secret is back in homer; the graph reads it and goes on";
    stage.step(what, arrived(homer)).await?;
    let bakery = bakery(homer);
    let active = bakery.until_active(|seen| seen["status"]["url"] == "https://bakery.internal.corp");
    let seen: Value = stage.step("readyWhen is true, the instance is ACTIVE", active).await?;
    anyhow::ensure!(seen["status"]["certificate"] == "Available", "status {}", seen["status"]);
    stage.screen.detail(&format!("status.url: {}", seen["status"]["url"]));

    let apart = async {
        let graphs = Scene::written(homer, since[0], GRAPHS_USER).await?;
        let broker = Scene::written(homer, since[0], BROKER_USER).await?;
        let copies = Scene::written(internal, since[1], BROKER_USER).await?;
        let has = |written: &[String], what: &str| written.iter().any(|found| found == what);
        anyhow::ensure!(has(&graphs, "patch certificates") || has(&graphs, "create certificates"), "{graphs:?}");
        anyhow::ensure!(
            !has(&graphs, "create secrets") && !has(&broker, "create certificates"),
            "{graphs:?} {broker:?}"
        );
        anyhow::ensure!(has(&broker, "create secrets") || has(&broker, "patch secrets"), "{broker:?}");
        anyhow::ensure!(copies.iter().any(|found| found.ends_with(" certificates")), "{copies:?}");
        Ok([("resource-graphs in homer", graphs), ("broker in homer", broker), ("broker in internal-corp", copies)])
    };
    let apart =
        stage.step("each wrote its own: the graph no Secret, the broker no Certificate in homer", apart).await?;
    for (who, written) in apart {
        stage.screen.detail(&format!("{who}: {}", written.join(", ")));
    }
    Ok(())
}

/// The instance.
pub(crate) fn bakery(homer: &Place) -> Thing {
    Thing::instance(homer, "SecureSite", BAKERY)
}

async fn copied(scene: &Scene) -> anyhow::Result<String> {
    let what = format!("a copy of Certificate {BAKERY} in internal-corp");
    let copy = wait_for(DEADLINE, &what, async || scene.internal.copy_of::<Certificate>(BAKERY).await).await?;
    let own: Certificate = scene.homer.api().get(BAKERY).await?;
    let owner = own.labels().get("kro.run/instance-kind").map(String::as_str);
    anyhow::ensure!(owner == Some("SecureSite"), "Certificate {BAKERY} belongs to {owner:?}");
    anyhow::ensure!(copy.spec == own.spec, "the copy's spec is {:?}", copy.spec);
    Ok(copy.name_any())
}

/// The Secret is there, and what the graph makes of it.
async fn arrived(homer: &Place) -> anyhow::Result<()> {
    wait_for(DEADLINE, "the settings of the server", async || {
        let secret: Secret = homer.api().get(SECRET).await?;
        let data = secret.data.unwrap_or_default();
        let authority = data.get("ca.crt").context("no ca.crt")?;
        let server: ConfigMap = homer.api().get("bakery-server").await?;
        let settings = server.data.unwrap_or_default();
        let text = |key: &str| settings.get(key).map(String::as_str).unwrap_or_default();
        anyhow::ensure!(text("secret") == SECRET && text("authority").as_bytes() == authority.0, "{settings:?}");
        anyhow::ensure!(text("authority").starts_with("-----BEGIN CERTIFICATE-----"), "{settings:?}");
        Ok(())
    })
    .await
}
