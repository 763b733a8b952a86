//! Three replicas, a disruption budget, and a node that is drained.

use anyhow::Context as _;
use example_stage::Screen;
use harness::wait_for;
use k8s_openapi::api::{core::v1::Pod, policy::v1::PodDisruptionBudget};
use kube::{Api, ResourceExt, api::EvictParams};
use serde_json::json;

use crate::{
    DEADLINE, TIMEOUT,
    brokers::{BROKER, Brokers, SYSTEM, TRUE},
    kills::tell,
    load::{Load, Service},
    world::World,
};

const REPLICAS: usize = 3;

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("Three replicas, and a node that is drained");
    screen.step("scaled to 3: three ready pods on both nodes, one of them leads", up(world)).await?;
    screen.step("two evictions at once: the disruption budget refuses the second", evict(world)).await?;
    let service = screen.step("kubectl drain of the leader's node: all move to the other one", drain(world)).await?;
    tell(screen, &service);
    Ok(())
}

async fn up(world: &World) -> anyhow::Result<()> {
    let brokers = Brokers::of(world);
    brokers.edit(json!({ "spec": { "replicas": REPLICAS } })).await?;
    let pods = brokers.until_ready(REPLICAS).await?;
    brokers.until("Available", |held| held.status == TRUE).await?;
    for node in &world.nodes {
        let here = pods.iter().filter(|pod| node_of(pod) == node.name).count();
        anyhow::ensure!(here > 0, "{REPLICAS} pods, and none on {}", node.name);
    }
    brokers.leader().await?;
    until_disruptible(world).await
}

/// Waits until the budget lets one pod go, and no more.
async fn until_disruptible(world: &World) -> anyhow::Result<()> {
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.hub.client.clone(), SYSTEM);
    wait_for(DEADLINE, "a PodDisruptionBudget that allows one disruption", async || {
        let budget = budgets.get(BROKER).await?;
        let status = budget.status.context("without status")?;
        let (allowed, expected) = (Some(1), i32::try_from(REPLICAS).ok());
        anyhow::ensure!(status.disruptions_allowed == allowed && status.expected_pods == expected, "{status:?}");
        Ok(())
    })
    .await
}

async fn evict(world: &World) -> anyhow::Result<()> {
    let brokers = Brokers::of(world);
    let pods: Api<Pod> = Api::namespaced(world.hub.client.clone(), SYSTEM);
    let [first, second, ..] = &brokers.until_ready(REPLICAS).await?[..] else { anyhow::bail!("too few pods") };
    pods.evict(&first.name_any(), &EvictParams::default()).await.context("the first eviction")?;
    match pods.evict(&second.name_any(), &EvictParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 429 => {}
        other => anyhow::bail!("expected the second eviction to be refused with 429, it is {other:?}"),
    }
    brokers.until_ready(REPLICAS).await?;
    until_disruptible(world).await
}

/// The whole node, as its owner would: what else runs there, such as the operator, moves as well.
async fn drain(world: &World) -> anyhow::Result<Service> {
    let brokers = Brokers::of(world);
    let leader = brokers.leader().await?;
    let node = node_of(&leader).to_owned();
    let mut load = Load::start(&world.homer, &world.internal, "drained").await?;
    load.more(10).await?;
    world.kubectl.run("hub", &["drain", &node, "--ignore-daemonsets", TIMEOUT]).await?;
    let pods = brokers.until_ready(REPLICAS).await?;
    anyhow::ensure!(pods.iter().all(|pod| node_of(pod) != node), "pods are left on {node}");
    brokers.leader().await?;
    load.more(20).await?;
    let service = load.stop(&world.homer, &world.internal).await?;
    world.kubectl.run("hub", &["uncordon", &node]).await?;
    Ok(service)
}

fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}
