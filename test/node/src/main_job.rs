//! The main job, and a migration with a real Job.

use anyhow::Context as _;
use broker_api::{
    Availability, Migration, MigrationConfiguration, MigrationState, example::Certificate, keys::MIGRATION_ID,
};
use certs_example::{
    proof::{Proof, prove},
    secret::{CA_CERTIFICATE, CERTIFICATE, KEY},
};
use example_stage::{Place, Screen, place::NAMESPACE};
use harness::wait_for;
use k8s_openapi::{
    api::{
        batch::v1::Job,
        core::v1::{Pod, Secret},
    },
    jiff::Timestamp,
};
use kube::ResourceExt;
use serde_json::json;

use crate::{DEADLINE, brokers::SYSTEM, world::World};

/// The Certificate of `examples/certs/consumer/certificate.yaml`.
const WEBSITE: &str = "website";
/// The name in it, and the one that it is edited to.
const FQDN: &str = "www.internal.corp";
const NEW_FQDN: &str = "www.corp.com";

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("The main job");
    let what = format!("homer: a Certificate for {FQDN} is served by internal-corp, its Secret comes back");
    let proof = screen.step(&what, arrive(world)).await?;
    tell(screen, &proof);

    screen.heading("A migration with a real Job");
    let what =
        format!("homer edits fqdn to {NEW_FQDN}: a Job on a node checks the new certificate, then it is switched");
    let (proof, node) = screen.step(&what, migrate(world)).await?;
    tell(screen, &proof);
    screen.detail(&format!("the Job's pod ran on {node}"));
    screen.step("the old copy is gone, and what the Migration made in hub", left(world)).await
}

fn tell(screen: &Screen, proof: &Proof) {
    screen.detail(&format!("for {}, issued by {}", proof.names.join(", "), proof.issuer));
}

async fn arrive(world: &World) -> anyhow::Result<Proof> {
    world.kubectl.run("homer", &["apply", "-f", "examples/certs/consumer/certificate.yaml"]).await?;
    let proof = arrived(&world.homer, FQDN, "internal.corp CA").await?;
    world.internal.copy_of::<Certificate>(WEBSITE).await?;
    Ok(proof)
}

/// Waits until the consumer has a good certificate for `fqdn` from `issuer`.
async fn arrived(homer: &Place, fqdn: &str, issuer: &str) -> anyhow::Result<Proof> {
    wait_for(DEADLINE, &format!("a certificate for {fqdn} from {issuer} in homer"), async || {
        let status = homer.api::<Certificate>().get(WEBSITE).await?.status.unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "status.status is {:?}", status.status);
        let secret = homer.api::<Secret>().get(&format!("{WEBSITE}-tls")).await?.data.unwrap_or_default();
        let text = |key| secret.get(key).map_or(&[][..], |value| &value.0);
        let proof = prove(text(CERTIFICATE), text(KEY), text(CA_CERTIFICATE), Timestamp::now())?;
        anyhow::ensure!(proof.names == [fqdn] && proof.issuer == format!("CN={issuer}"), "{proof:?}");
        Ok(proof)
    })
    .await
}

/// Returns also the node whose kubelet ran the Job's pod.
async fn migrate(world: &World) -> anyhow::Result<(Proof, String)> {
    world.kubectl.run("hub", &["apply", "-f", "examples/certs/hub/migrationconfiguration.yaml"]).await?;
    world.hub.until_ready_in::<MigrationConfiguration>(SYSTEM, "certificates").await?;
    let mark = world.hub.cluster.audit().settle().await?;
    world.homer.edit::<Certificate>(WEBSITE, json!({ "spec": { "fqdn": NEW_FQDN } })).await?;
    wait_for(DEADLINE * 2, "a complete Migration", async || {
        let migrations = world.hub.list::<Migration>().await?;
        let migration = migrations.into_iter().next().context("no Migration")?;
        let status = migration.status.unwrap_or_default();
        anyhow::ensure!(status.state == MigrationState::CutoverCompleted, "{:?}, {:?}", status.state, status.stages);
        Ok(())
    })
    .await?;
    let proof = arrived(&world.homer, NEW_FQDN, "corp.com CA").await?;
    // The stage cleans up after itself, pods included. The log remembers who said how they were.
    let events = world.hub.cluster.audit().settled_since(mark).await?;
    let told = events.on("pods").only(|event| event.namespace == NAMESPACE && event.subresource == "status");
    let kubelet = told.iter().find_map(|event| event.user.strip_prefix("system:node:"));
    Ok((proof, kubelet.context("no kubelet ran a pod for the Job")?.to_owned()))
}

async fn left(world: &World) -> anyhow::Result<()> {
    let World { hub, internal, corp, .. } = world;
    internal.none::<Certificate>("that is a copy", |_| true).await?;
    corp.copy_of::<Certificate>(WEBSITE).await?;
    hub.none::<Job>("of a migration", |held| held.labels().contains_key(MIGRATION_ID)).await?;
    hub.none::<Secret>("of a migration", |held| held.labels().contains_key(MIGRATION_ID)).await?;
    hub.none::<Pod>("of a Job", |held| held.namespace().as_deref() == Some(NAMESPACE)).await
}
