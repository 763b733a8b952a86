//! The image is rolled, and nobody notices.

use std::time::Duration;

use example_stage::Screen;
use serde_json::json;

use crate::{
    brokers::{Brokers, TRUE, image, is_ready},
    kills::tell,
    load::{Load, Service},
    world::World,
};

/// The longest that an object may wait for its copy, whatever is rolled.
const LONGEST: Duration = Duration::from_secs(2);
/// The image as it was installed, without its tag.
pub(crate) const REPOSITORY: &str = "localhost/resource-broker";
/// Its tag.
pub(crate) const INSTALLED: &str = env!("CARGO_PKG_VERSION");

/// Rolls to another tag of the same image, under load.
pub(crate) async fn play(world: &World, screen: &Screen, tag: &str, run: &'static str) -> anyhow::Result<()> {
    let replicas = replicas(&Brokers::of(world)).await?;
    screen.heading("The image is rolled, and somebody creates an object every 100 ms");
    let what = format!("{replicas} replicas roll to tag {tag}: no object waits longer than {} s", LONGEST.as_secs());
    let service = screen.step(&what, roll(world, tag, run)).await?;
    tell(screen, &service);
    Ok(())
}

/// How many replicas the Broker asks for.
async fn replicas(brokers: &Brokers) -> anyhow::Result<usize> {
    Ok(usize::try_from(brokers.get().await?.spec.replicas.unwrap_or(1))?)
}

async fn roll(world: &World, tag: &str, run: &'static str) -> anyhow::Result<Service> {
    let brokers = Brokers::of(world);
    let replicas = replicas(&brokers).await?;
    let wanted = format!("{REPOSITORY}:{tag}");
    if tag != INSTALLED {
        for node in &world.nodes {
            node.tag(&format!("{REPOSITORY}:{INSTALLED}"), &wanted).await?;
        }
    }
    let mut load = Load::start(&world.homer, &world.internal, run).await?;
    load.more(10).await?;
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
    load.more(20).await?;
    let service = load.stop(&world.homer, &world.internal).await?;
    anyhow::ensure!(service.longest <= LONGEST, "an object waited {:?} for its copy", service.longest);
    Ok(service)
}
