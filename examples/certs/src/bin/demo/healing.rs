//! People edit and break things by hand, and everything comes right again.

use anyhow::Context as _;
use broker_api::{example::Certificate, keys};
use certs_example::proof::Proof;
use harness::wait_for;
use kube::{ResourceExt, api::DeleteParams};
use serde_json::json;

use crate::{
    DEADLINE,
    arrival::{WEBSITE, arrived, tell},
    screen::Screen,
    stage::Stage,
};

/// The name that the consumer asks for from here on.
const FQDN: &str = "app.internal.corp";

/// `first` is the certificate that the consumer has so far.
pub(crate) async fn play(stage: &Stage, screen: &Screen, first: Proof) -> anyhow::Result<()> {
    screen.heading("People edit and break things");
    let proof = screen
        .step(&format!("homer edits spec.fqdn to {FQDN}: a new certificate arrives"), renamed(stage, &first))
        .await?;
    tell(screen, &proof);
    screen.step("somebody edits the copy's spec in internal-corp: it is put right", respecified(stage)).await?;
    screen.step("somebody strips the copy's marks: they are restored", stripped(stage)).await?;
    screen.step("somebody deletes the copy: it comes back, and so does the certificate", deleted(stage)).await?;
    screen.step("somebody deletes the Secret in homer: it comes back", secret_deleted(stage)).await?;
    Ok(())
}

async fn renamed(stage: &Stage, first: &Proof) -> anyhow::Result<Proof> {
    stage.homer.edit(WEBSITE, json!({ "spec": { "fqdn": FQDN } })).await?;
    arrived(stage, WEBSITE, FQDN, &stage.internal, Some(first)).await
}

async fn copy(stage: &Stage) -> anyhow::Result<Certificate> {
    stage.internal.place.copy_of(WEBSITE).await
}

async fn respecified(stage: &Stage) -> anyhow::Result<()> {
    let name = copy(stage).await?.name_any();
    let spoiled = json!({ "spec": { "fqdn": "spoiled.internal.corp" } });
    let spoiled = stage.internal.place.edit(&name, spoiled).await?;
    wait_for(DEADLINE, &format!("spec.fqdn {FQDN} in the copy"), async || {
        let copy = copy(stage).await?;
        anyhow::ensure!(copy.metadata.generation > spoiled.metadata.generation, "nothing was written");
        anyhow::ensure!(copy.spec.fqdn == FQDN, "it is {}", copy.spec.fqdn);
        Ok(())
    })
    .await?;
    arrived(stage, WEBSITE, FQDN, &stage.internal, None).await.map(drop)
}

async fn stripped(stage: &Stage) -> anyhow::Result<()> {
    let before = copy(stage).await?;
    let name = before.name_any();
    let marks = |copy: &Certificate| {
        let annotations = copy.annotations().iter().filter(|(key, _)| key.starts_with(keys::PREFIX));
        let labels = copy.labels().iter().filter(|(key, _)| key.starts_with(keys::PREFIX));
        annotations.chain(labels).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    anyhow::ensure!(!marks(&before).is_empty(), "expected marks on the copy {name}, found none");
    let patch = json!({ "metadata": { "annotations": null, "labels": null } });
    let bare = stage.internal.place.edit(&name, patch).await?;
    anyhow::ensure!(marks(&bare).is_empty(), "expected the edit to strip the marks, found {:?}", marks(&bare));
    wait_for(DEADLINE, "the marks to be as they were", async || {
        let now = stage.internal.place.certificates.get(&name).await?;
        anyhow::ensure!(marks(&now) == marks(&before), "{:?}", marks(&now));
        Ok(())
    })
    .await
}

async fn deleted(stage: &Stage) -> anyhow::Result<()> {
    let before = copy(stage).await?;
    stage.internal.place.delete(&before.name_any()).await?;
    wait_for(DEADLINE, "another copy of the same name", async || {
        let after = copy(stage).await?;
        anyhow::ensure!(after.name_any() == before.name_any(), "it is called {}", after.name_any());
        anyhow::ensure!(after.uid() != before.uid(), "it is still the one that was deleted");
        Ok(())
    })
    .await?;
    arrived(stage, WEBSITE, FQDN, &stage.internal, None).await.map(drop)
}

async fn secret_deleted(stage: &Stage) -> anyhow::Result<()> {
    let name = format!("{WEBSITE}-tls");
    let secrets = &stage.homer.secrets;
    let before = secrets.get(&name).await?.uid();
    let deleted = secrets.delete(&name, &DeleteParams::default()).await;
    deleted.context("cannot delete the Secret in homer")?;
    wait_for(DEADLINE, "another Secret of the same name", async || {
        anyhow::ensure!(secrets.get(&name).await?.uid() != before, "it is still the one that was deleted");
        Ok(())
    })
    .await?;
    arrived(stage, WEBSITE, FQDN, &stage.internal, None).await.map(drop)
}
