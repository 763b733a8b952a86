//! The image is rolled, and nobody notices.

use example_stage::Screen;
use serde_json::json;

use crate::{
    brokers::{Brokers, TRUE, image, is_ready},
    holders::{Holders, Succession},
    kills::tell,
    load::{Load, Service},
    world::World,
};

/// The image as it was installed, without its tag.
const REPOSITORY: &str = "localhost/resource-broker";
/// Its tag.
pub(crate) const INSTALLED: &str = env!("CARGO_PKG_VERSION");
/// Another one.
const OTHER: &str = "rolled";

/// A machine that has ten times as much to do as it can lets a Lease run out now and then, whoever is rolled. A leader that does not
/// hand over never gets there.
const TRIES: usize = 3;

/// Rolls to another tag of the same image, under load.
pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    let replicas = replicas(&Brokers::of(world)).await?;
    screen.heading("The image is rolled, and somebody creates an object every 300 ms");
    let what = format!("rolled, replicas: {replicas}: each leader hands over to the next");
    let (service, ran_out) = screen.step(&what, rolled(world)).await?;
    tell(screen, &service);
    for successions in ran_out {
        screen.detail(&format!("before it, in a rollout: {}", successions.join("; ")));
    }
    Ok(())
}

/// What the one who creates objects saw of a rollout in which nobody waited for a Lease to run out; and who followed whom in
/// those before it.
async fn rolled(world: &World) -> anyhow::Result<(Service, Vec<Vec<String>>)> {
    let mut tries = Vec::new();
    while tries.len() < TRIES {
        let (service, successions) = roll(world).await?;
        anyhow::ensure!(!successions.is_empty(), "the brokers were rolled, and the same one leads");
        if successions.iter().all(|succession| succession.released) {
            return Ok((service, tries));
        }
        tries.push(successions.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    anyhow::bail!("in each of {TRIES} rollouts a Lease ran out: {tries:?}")
}

/// How many replicas the Broker asks for.
async fn replicas(brokers: &Brokers) -> anyhow::Result<usize> {
    Ok(usize::try_from(brokers.get().await?.spec.replicas.unwrap_or(1))?)
}

/// To the tag that the brokers do not have now: the image is the same, which a Deployment does not know.
async fn roll(world: &World) -> anyhow::Result<(Service, Vec<Succession>)> {
    let brokers = Brokers::of(world);
    let replicas = replicas(&brokers).await?;
    let now = brokers.get().await?.spec.image.and_then(|image| image.tag);
    let tag = if now.as_deref() == Some(OTHER) { INSTALLED } else { OTHER };
    let wanted = format!("{REPOSITORY}:{tag}");
    for node in &world.nodes {
        node.tag(&format!("{REPOSITORY}:{INSTALLED}"), &format!("{REPOSITORY}:{OTHER}")).await?;
    }
    let mut load = Load::start(&world.homer, &world.internal, "rolled").await?;
    load.more(10).await?;
    let holders = Holders::watch(brokers.leases()).await?;
    brokers.edit(json!({ "spec": { "image": { "tag": tag } } })).await?;
    brokers
        .until_pods(&format!("{replicas} ready pods with {wanted}, and no other"), |pods| {
            pods.len() == replicas && pods.iter().all(|pod| is_ready(pod) && image(pod) == wanted)
        })
        .await?;
    brokers.until("Progressing", |held| held.status != TRUE).await?;
    brokers.until("Available", |held| held.status == TRUE).await?;
    // The hand-over is done, and a few more objects are to see it.
    brokers.leader().await?;
    let successions = holders.until_now().await?;
    load.more(20).await?;
    Ok((load.stop(&world.homer, &world.internal).await?, successions))
}
