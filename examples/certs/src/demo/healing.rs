//! People edit and break things by hand, and everything comes right again.

use crate::proof::Proof;
use broker_api::{example::Certificate, keys};
use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::json;

use super::{
    arrival::{WEBSITE, arrived, tell},
    scene::Scene,
};

/// The name that the consumer asks for from here on.
const FQDN: &str = "app.internal.corp";

/// `first` is the certificate that the consumer has so far.
pub(crate) async fn play(scene: &Scene, stage: &Stage, first: Proof) -> anyhow::Result<()> {
    stage.screen.heading("People edit and break things");
    let proof = stage
        .step(&format!("homer edits spec.fqdn to {FQDN}: a new certificate arrives"), renamed(scene, &first))
        .await?;
    tell(&stage.screen, &proof);
    stage.step("somebody edits the copy's spec in internal-corp: it is put right", respecified(scene)).await?;
    stage.step("somebody strips the copy's marks: they are restored", stripped(scene)).await?;
    stage.step("somebody deletes the copy: it comes back, and so does the certificate", deleted(scene)).await?;
    stage.step("somebody deletes the Secret in homer: it comes back", secret_deleted(scene)).await?;
    Ok(())
}

async fn renamed(scene: &Scene, first: &Proof) -> anyhow::Result<Proof> {
    scene.homer.edit::<Certificate>(WEBSITE, json!({ "spec": { "fqdn": FQDN } })).await?;
    arrived(scene, WEBSITE, FQDN, &scene.internal, Some(first)).await
}

async fn copy(scene: &Scene) -> anyhow::Result<Certificate> {
    scene.internal.place.copy_of(WEBSITE).await
}

async fn respecified(scene: &Scene) -> anyhow::Result<()> {
    let name = copy(scene).await?.name_any();
    let spoiled = json!({ "spec": { "fqdn": "spoiled.internal.corp" } });
    let spoiled = scene.internal.place.edit::<Certificate>(&name, spoiled).await?;
    wait_for(DEADLINE, &format!("spec.fqdn {FQDN} in the copy"), async || {
        let copy = copy(scene).await?;
        anyhow::ensure!(copy.metadata.generation > spoiled.metadata.generation, "nothing was written");
        anyhow::ensure!(copy.spec.fqdn == FQDN, "it is {}", copy.spec.fqdn);
        Ok(())
    })
    .await?;
    arrived(scene, WEBSITE, FQDN, &scene.internal, None).await.map(drop)
}

async fn stripped(scene: &Scene) -> anyhow::Result<()> {
    let before = copy(scene).await?;
    let name = before.name_any();
    let marks = |copy: &Certificate| {
        let annotations = copy.annotations().iter().filter(|(key, _)| key.starts_with(keys::PREFIX));
        let labels = copy.labels().iter().filter(|(key, _)| key.starts_with(keys::PREFIX));
        annotations.chain(labels).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    anyhow::ensure!(!marks(&before).is_empty(), "expected marks on the copy {name}, found none");
    let patch = json!({ "metadata": { "annotations": null, "labels": null } });
    let bare = scene.internal.place.edit(&name, patch).await?;
    anyhow::ensure!(marks(&bare).is_empty(), "expected the edit to strip the marks, found {:?}", marks(&bare));
    wait_for(DEADLINE, "the marks to be as they were", async || {
        let now = scene.internal.place.api().get(&name).await?;
        anyhow::ensure!(marks(&now) == marks(&before), "{:?}", marks(&now));
        Ok(())
    })
    .await
}

async fn deleted(scene: &Scene) -> anyhow::Result<()> {
    let before = copy(scene).await?;
    scene.internal.place.delete::<Certificate>(&before.name_any()).await?;
    wait_for(DEADLINE, "another copy of the same name", async || {
        let after = copy(scene).await?;
        anyhow::ensure!(after.name_any() == before.name_any(), "it is called {}", after.name_any());
        anyhow::ensure!(after.uid() != before.uid(), "it is still the one that was deleted");
        Ok(())
    })
    .await?;
    arrived(scene, WEBSITE, FQDN, &scene.internal, None).await.map(drop)
}

async fn secret_deleted(scene: &Scene) -> anyhow::Result<()> {
    let name = format!("{WEBSITE}-tls");
    let secrets = scene.homer.api::<Secret>();
    let before = secrets.get(&name).await?.uid();
    scene.homer.delete::<Secret>(&name).await?;
    wait_for(DEADLINE, "another Secret of the same name", async || {
        anyhow::ensure!(secrets.get(&name).await?.uid() != before, "it is still the one that was deleted");
        Ok(())
    })
    .await?;
    arrived(scene, WEBSITE, FQDN, &scene.internal, None).await.map(drop)
}
