//! What is left when it goes: nothing but what people would miss.

use std::collections::BTreeSet;

use example_stage::Screen;
use harness::wait_for;

use crate::{
    DEADLINE, TIMEOUT,
    brokers::{BROKER, SYSTEM},
    install::OPERATOR,
    inventory::{Item, inventory},
    world::World,
};

/// What the hub holds at certain times.
pub(crate) struct Before {
    /// Before the operator is installed.
    pub(crate) operator: BTreeSet<Item>,
    /// Before there is a Broker.
    pub(crate) broker: BTreeSet<Item>,
}

pub(crate) async fn play(world: &World, screen: &Screen, before: &Before) -> anyhow::Result<()> {
    screen.heading("It goes");
    // The key with which assignments are signed outlives the Broker, and so do people's own objects.
    let kept = [
        ("Secret.", SYSTEM, "resource-broker-signing-key"),
        ("Secret.", SYSTEM, "resource-broker-signing-key-backup"),
        ("MigrationConfiguration.broker.platform-mesh.io", SYSTEM, "certificates"),
    ];
    let what = "the Broker is deleted: nothing of it is left but the signing key";
    screen.step(what, broker(world, &before.broker, &kept)).await?;
    let what = "config/default/undeploy.sh, then namespaces and CRDs as it says: nothing is left";
    screen.step(what, operator(world, &before.operator)).await
}

async fn broker(world: &World, before: &BTreeSet<Item>, kept: &[(&str, &str, &str)]) -> anyhow::Result<()> {
    let there = inventory(&world.hub.client).await?.len();
    anyhow::ensure!(there > before.len() + kept.len(), "the Broker has made nothing");
    world.kubectl.run("hub", &["--namespace", SYSTEM, "delete", "broker", BROKER, TIMEOUT]).await?;
    wait_for(DEADLINE, "nothing of the Broker in hub", async || {
        let mut left = inventory(&world.hub.client).await?;
        left.retain(|item| !before.contains(item));
        // Kept for --migration-ttl: what a Migration did is asked for later.
        left.retain(|(kind, ..)| kind != "Migration.broker.platform-mesh.io");
        // The drain has given it another name.
        left.retain(|(kind, _, name)| kind != "Pod." || !name.starts_with(OPERATOR));
        left.retain(|(kind, namespace, name)| !kept.contains(&(kind.as_str(), namespace, name)));
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}

async fn operator(world: &World, before: &BTreeSet<Item>) -> anyhow::Result<()> {
    world.kubectl.script("config/default/undeploy.sh", &[]).await?;
    let kubectl = &world.kubectl;
    kubectl.run("hub", &["delete", "namespace", SYSTEM, "resource-broker-clusters", TIMEOUT]).await?;
    for crds in ["config/crd", "config/crd-graphs"] {
        kubectl.run("hub", &["delete", "-k", crds, TIMEOUT]).await?;
    }
    kubectl.run("hub", &["delete", "-f", "config/rbac/compute-roles.yaml"]).await?;
    wait_for(DEADLINE, "nothing of ours in hub", async || {
        let mut left = inventory(&world.hub.client).await?;
        left.retain(|item| !before.contains(item));
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}
