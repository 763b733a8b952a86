//! What is wrong with a ResourceGraphDefinition is said in it, and what was served before is served on.

use anyhow::Context as _;
use example_stage::{
    DEADLINE, Place, Stage,
    thing::{GROUP, Thing, is_served, message},
};
use harness::wait_for;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::{definition::WEB_APPLICATION, scene::Scene};

const MISSPELT: &str = include_str!("../consumer/misspelt.yaml");
const SETTINGS: &str = "shop-settings";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("Mistakes");
    let rgd = Thing::definition(homer, "misspelt");
    let told = async {
        homer.apply(MISSPELT).await?;
        let told = refused(&rgd).await?;
        let crds = Api::<CustomResourceDefinition>::all(homer.client.clone());
        let crd = crds.get_opt(&format!("misspelts.{GROUP}")).await?;
        anyhow::ensure!(crd.is_none(), "expected no CRD of a kind that cannot be served");
        Ok(told)
    };
    let told = stage.step("a field is misspelt: the ResourceGraphDefinition says where, no kind is made", told).await?;
    stage.screen.detail(&told);
    let mended = async {
        homer.apply(&MISSPELT.replace("greting", "greeting")).await?;
        rgd.until("Active", is_served).await
    };
    stage.step("the field is put right: it is Active", mended).await?;

    let rgd = Thing::definition(homer, "webapplication");
    let broken = async {
        homer.apply(&WEB_APPLICATION.replace("${schema.spec.greeting}", "${schema.spec.greting}")).await?;
        refused(&rgd).await
    };
    stage.step("the same mistake in an edit of webapplication, which is in use", broken).await?;
    stage.step("shop is served on as before: settings that somebody deletes come back", served_on(homer)).await?;
    let mended = async {
        homer.apply(WEB_APPLICATION).await?;
        let seen = rgd.until("Active", is_served).await?;
        let last = &seen["status"]["lastIssuedRevision"];
        anyhow::ensure!(*last == 1, "expected no other revision than the first, found {last}");
        Ok(())
    };
    stage.step("the edit is taken back: nothing has changed, it is still revision 1", mended).await
}

/// Waits until it is refused, and returns why.
async fn refused(rgd: &Thing) -> anyhow::Result<String> {
    let why = |seen: &Value| message(seen, "GraphAccepted", "False").map(str::to_owned);
    let names_it = |seen: &Value| why(seen).is_some_and(|why| why.contains("greting") && why.contains("settings"));
    let seen = rgd.until("refused for the field that is misspelt", names_it).await?;
    anyhow::ensure!(seen["status"]["state"] == "Inactive", "state {}", seen["status"]["state"]);
    why(&seen).context("a message")
}

async fn served_on(homer: &Place) -> anyhow::Result<()> {
    let before = homer.api::<ConfigMap>().get(SETTINGS).await?;
    homer.delete::<ConfigMap>(SETTINGS).await?;
    wait_for(DEADLINE, &format!("another ConfigMap {SETTINGS}"), async || {
        let seen = homer.api::<ConfigMap>().get(SETTINGS).await?;
        anyhow::ensure!(seen.uid() != before.uid(), "it is still the one that was deleted");
        anyhow::ensure!(seen.data == before.data, "{:?}", seen.data);
        Ok(())
    })
    .await
}
