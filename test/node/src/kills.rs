//! The leader dies without a word: its process, then its pod.

use std::{fs, time::Duration};

use anyhow::Context as _;
use example_stage::Screen;
use harness::wait_for;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    DEADLINE,
    brokers::{Brokers, SYSTEM},
    holders::Holders,
    load::{Load, Service},
    world::World,
};

/// What runs in a broker's container.
const PROGRAM: &str = "resource-broker";

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("The leader dies, and somebody creates an object every 300 ms");
    let service = screen.step("kill -9 of its process: another one leads, the container starts again", killed(world));
    tell(screen, &service.await?);
    let service = screen.step("kubectl delete pod --force: another pod leads, a new pod comes", deleted(world));
    tell(screen, &service.await?);
    Ok(())
}

/// What the one who creates objects saw.
pub(crate) fn tell(screen: &Screen, service: &Service) {
    let Service { objects, longest, median } = service;
    let millis = Duration::as_millis;
    screen.detail(&format!(
        "{objects} objects, none lost; create to copy: longest {} ms, median {} ms",
        millis(longest),
        millis(median)
    ));
}

async fn killed(world: &World) -> anyhow::Result<Service> {
    let brokers = Brokers::of(world);
    let (leader, dead) = (brokers.leader().await?, brokers.holder().await?);
    let restarts = restarts_of(&leader);
    let mut load = Load::start(&world.homer, &world.internal, "killed").await?;
    load.more(10).await?;
    let holders = Holders::watch(brokers.leases()).await?;
    kill_process(process(&leader)?, Signal::KILL)?;
    brokers
        .until_pods("the killed container to run again", |pods| {
            let same = pods.iter().find(|pod| pod.name_any() == leader.name_any());
            same.is_some_and(|pod| restarts_of(pod) > restarts)
        })
        .await?;
    brokers.until_ready(2).await?;
    another_leads(&brokers, dead.as_deref()).await?;
    let successions = holders.until_now().await?;
    anyhow::ensure!(
        successions.iter().any(|succession| !succession.released),
        "nobody had to wait for the Lease of a killed leader"
    );
    load.more(10).await?;
    load.stop(&world.homer, &world.internal).await
}

async fn deleted(world: &World) -> anyhow::Result<Service> {
    let brokers = Brokers::of(world);
    let (leader, dead) = (brokers.leader().await?, brokers.holder().await?);
    let mut load = Load::start(&world.homer, &world.internal, "deleted").await?;
    load.more(10).await?;
    let name = leader.name_any();
    let args = ["--namespace", SYSTEM, "delete", "pod", &name, "--force", "--grace-period=0"];
    world.kubectl.run("hub", &args).await?;
    brokers.until_pods("the deleted pod to be gone", |pods| pods.iter().all(|pod| pod.name_any() != name)).await?;
    brokers.until_ready(2).await?;
    another_leads(&brokers, dead.as_deref()).await?;
    load.more(10).await?;
    load.stop(&world.homer, &world.internal).await
}

/// Waits until another process holds the lease, of a pod that is there. A killed leader could not release it, so it has to run
/// out; where its pod stays, the process that is started there may be the one that takes it.
async fn another_leads(brokers: &Brokers, dead: Option<&str>) -> anyhow::Result<()> {
    wait_for(DEADLINE, "another process to lead", async || {
        let holder = brokers.holder().await?;
        anyhow::ensure!(holder.is_some() && holder.as_deref() != dead, "the lease is held by {holder:?}");
        Ok(())
    })
    .await?;
    brokers.leader().await.map(drop)
}

/// How often containers of a pod were started again.
pub(crate) fn restarts_of(pod: &Pod) -> i32 {
    let states = pod.status.iter().filter_map(|status| status.container_statuses.as_ref()).flatten();
    states.map(|held| held.restart_count).sum()
}

/// The process of a pod's container. Those of all pods of all nodes are to be seen here, each in a cgroup that has the
/// pod's uid in its name.
fn process(pod: &Pod) -> anyhow::Result<Pid> {
    let uid = pod.metadata.uid.as_deref().context("a pod without uid")?;
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let read = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
        let runs = read("cmdline").split('\0').next().and_then(|path| path.rsplit('/').next()) == Some(PROGRAM);
        if runs && read("cgroup").contains(uid) {
            let id = path.file_name().and_then(|name| name.to_str()?.parse().ok()).and_then(Pid::from_raw);
            return id.context("a process without an id");
        }
    }
    anyhow::bail!("no process {PROGRAM} in a cgroup of pod {uid}")
}
