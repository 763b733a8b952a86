//! What may be wrong with a Broker: it says so, and the brokers that run go on.

use anyhow::Context as _;
use broker_api::example::Certificate;
use example_stage::Screen;
use harness::wait_for;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    DEADLINE,
    brokers::{Brokers, TRUE, is_ready},
    kills::restarts_of,
    rollout::INSTALLED,
    world::World,
};

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("Troubles: the Broker says what is wrong, and is served on");
    // (what is done, the edit, the reasons that do, whether a pod tells it)
    let troubles = [
        (
            "an image that is nowhere",
            json!({ "image": { "tag": "nowhere" } }),
            json!({ "image": { "tag": INSTALLED } }),
            &["ErrImagePull", "ImagePullBackOff"][..],
        ),
        (
            "a flag that does not exist",
            json!({ "extraArgs": ["--no-such-flag"] }),
            json!({ "extraArgs": null }),
            &["InvalidSpec"][..],
        ),
        (
            "a kubeconfig that is not there, at which the broker ends",
            json!({ "extraArgs": ["--provider-kubeconfig=/nowhere/theseus.kubeconfig"] }),
            json!({ "extraArgs": null }),
            &["CrashLoopBackOff", "Error"][..],
        ),
    ];
    for (number, (what, wrong, right, reasons)) in troubles.into_iter().enumerate() {
        let work = trouble(world, number, &wrong, &right, reasons);
        let message = screen.step(&format!("{what}: Degraded, {}", reasons.join(" or ")), work).await?;
        screen.detail(&message);
    }
    screen.step("replicas 0: no pod is left; back to 1: served again", none(world)).await
}

/// Makes it, reads what the Broker says, checks the service, and undoes it.
async fn trouble(
    world: &World,
    number: usize,
    wrong: &Value,
    right: &Value,
    reasons: &[&str],
) -> anyhow::Result<String> {
    let brokers = Brokers::of(world);
    let running = ready(&brokers.pods().await?);
    brokers.edit(json!({ "spec": wrong })).await?;
    let held = brokers.until("Degraded", |held| held.status == TRUE && reasons.contains(&held.reason.as_str())).await?;
    brokers.until("Available", |held| held.status == TRUE).await?;
    // A probe that a busy machine answers late makes a pod unready for a moment.
    let are_left = |pods: &[Pod]| running.iter().all(|one| ready(pods).contains(one));
    brokers.until_pods(&format!("{running:?}, which ran before"), are_left).await?;
    served(world, &format!("trouble-{number}")).await?;
    brokers.edit(json!({ "spec": right })).await?;
    brokers.until("Degraded", |held| held.status != TRUE).await?;
    brokers.until_ready(running.len()).await?;
    Ok(format!("{}: {}", held.reason, held.message))
}

/// Names of the pods that are ready, and how often their containers were started again.
fn ready(pods: &[Pod]) -> Vec<(String, i32)> {
    pods.iter().filter(|pod| is_ready(pod)).map(|pod| (pod.name_any(), restarts_of(pod))).collect()
}

/// Whether a new object gets its copy. It goes again.
pub(crate) async fn served(world: &World, name: &str) -> anyhow::Result<()> {
    create(world, name).await?;
    until_served(world, name).await
}

async fn create(world: &World, name: &str) -> anyhow::Result<()> {
    let object = serde_json::from_value(json!({
        "apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate",
        "metadata": { "name": name }, "spec": { "fqdn": format!("{name}.internal.corp") },
    }))?;
    let certificates = world.homer.api::<Certificate>();
    certificates.create(&PostParams::default(), &object).await.map(drop).context("cannot create an object")
}

async fn until_served(world: &World, name: &str) -> anyhow::Result<()> {
    wait_for(DEADLINE, &format!("a copy of {name}"), async || world.internal.copy_of::<Certificate>(name).await)
        .await?;
    world.homer.api::<Certificate>().delete(name, &DeleteParams::default()).await?;
    world.homer.gone::<Certificate>(name).await
}

async fn none(world: &World) -> anyhow::Result<()> {
    let brokers = Brokers::of(world);
    brokers.edit(json!({ "spec": { "replicas": 0 } })).await?;
    brokers.until_pods("no pods", <[_]>::is_empty).await?;
    create(world, "waiting").await?;
    brokers.edit(json!({ "spec": { "replicas": 1 } })).await?;
    brokers.until_ready(1).await?;
    brokers.until("Available", |held| held.status == TRUE).await?;
    until_served(world, "waiting").await
}
