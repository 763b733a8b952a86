//! Operator and broker, installed by the commands of the project's README, word by word.

use std::collections::BTreeSet;

use broker_api::{AcceptApi, Broker};
use example_stage::{Place, Screen};
use harness::wait_for;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use crate::{
    DEADLINE,
    brokers::{BROKER, Brokers, SYSTEM, TRUE},
    inventory::{Item, inventory},
    world::World,
};

/// Names of the operator's Deployment, ServiceAccount and pods.
pub(crate) const OPERATOR: &str = "resource-broker-operator";
const CERTIFICATE: &str = "Certificate.v1alpha1.example.platform-mesh.io";
const CERTIFICATES: &str = "config/crd/example.platform-mesh.io_certificates.yaml";
const ACCEPT_APIS: &str = "config/crd/broker.platform-mesh.io_acceptapis.yaml";

/// Returns what the hub held before there was a Broker.
pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<BTreeSet<Item>> {
    screen.heading("Installation, as the README says");
    let what = "kubectl apply -k config/default: the operator is available";
    screen.step(what, operator(world)).await?;
    let what = "CRDs of the kinds in homer and the providers, compute-roles.yaml in hub";
    screen.step(what, kinds(world)).await?;
    let what = "kubectl broker join: homer, internal-corp and corp-com, each with its rights and a Secret in hub";
    screen.step(what, join(world)).await?;
    let before = inventory(&world.hub.client).await?;
    let what = "one Broker (config/samples/broker.yaml): it is available, and its pods are ready and restricted";
    screen.step(what, broker(world)).await?;
    let what = "each provider's AcceptAPI is in use";
    screen.step(what, offers(world)).await?;
    screen.step("kubectl broker doctor: nothing is found", sound(world)).await?;
    Ok(before)
}

async fn operator(world: &World) -> anyhow::Result<()> {
    world.kubectl.run("hub", &["apply", "-k", "config/default"]).await?;
    let deployments: Api<Deployment> = Api::namespaced(world.hub.client.clone(), SYSTEM);
    wait_for(DEADLINE, "the operator to be available", async || {
        let status = deployments.get(OPERATOR).await?.status.unwrap_or_default();
        anyhow::ensure!(status.available_replicas == Some(1), "{:?}", status.conditions);
        Ok(())
    })
    .await
}

async fn kinds(world: &World) -> anyhow::Result<()> {
    for (place, role) in world.others() {
        let mut args = vec!["apply", "-f", CERTIFICATES];
        if role == "provider" {
            // The latter is a provider's own choice; without it the broker asks, and is denied.
            args.extend(["-f", ACCEPT_APIS, "-f", "config/rbac/provider-namespaces.yaml"]);
        }
        world.kubectl.run(place.name(), &args).await?;
    }
    world.kubectl.run("hub", &["apply", "-f", "config/rbac/compute-roles.yaml"]).await.map(drop)
}

async fn join(world: &World) -> anyhow::Result<()> {
    for (place, role) in world.others() {
        let name = place.name();
        let args = ["join", name, "--role", role, "--member-context", name, "--watch-kind", CERTIFICATE];
        world.kubectl.broker("hub", &args).await?;
    }
    Ok(())
}

async fn broker(world: &World) -> anyhow::Result<()> {
    world.kubectl.run("hub", &["apply", "-f", "config/samples/broker.yaml"]).await?;
    let brokers = Brokers::of(world);
    brokers.until("Available", |held| held.status == TRUE).await?;
    brokers.until("Degraded", |held| held.status != TRUE).await?;
    let Broker { spec, .. } = brokers.get().await?;
    let replicas = usize::try_from(spec.replicas.unwrap_or(1))?;
    for pod in brokers.until_ready(replicas).await? {
        // The namespace enforces Pod Security level `restricted`: that the pod is there says it. Here is what it does
        // not ask for.
        let container = pod.spec.iter().flat_map(|spec| &spec.containers).next().cloned().unwrap_or_default();
        let security = container.security_context.clone().unwrap_or_default();
        anyhow::ensure!(
            security.read_only_root_filesystem == Some(true),
            "{BROKER} may write to its root: {security:?}"
        );
        let resources = container.resources.unwrap_or_default();
        anyhow::ensure!(resources.limits.is_some() && resources.requests.is_some(), "no limits: {resources:?}");
    }
    Ok(())
}

async fn offers(world: &World) -> anyhow::Result<()> {
    for place in [&world.internal, &world.corp] {
        let offer = format!("examples/certs/{}/acceptapi.yaml", place.name());
        world.kubectl.run(place.name(), &["apply", "-f", &offer]).await?;
        until_used(place).await?;
    }
    Ok(())
}

async fn sound(world: &World) -> anyhow::Result<()> {
    // A probe that a busy machine answers late makes a pod unready for a moment.
    wait_for(DEADLINE, "nothing to be found", async || {
        let found = world.kubectl.broker("hub", &["doctor"]).await?;
        anyhow::ensure!(found.trim() == "nothing found in 4 clusters", "{found}");
        Ok(())
    })
    .await
}

async fn until_used(place: &Place) -> anyhow::Result<()> {
    place.until_ready::<AcceptApi>("certificates").await
}
