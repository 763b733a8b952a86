//! Graphs and broker over five clusters: an RGD of the hub, an instance in a spoke, a child that a provider serves.

use broker_api::example::Certificate;
use example_stage::{DEADLINE, Stage, Thing, thing::is_served};
use harness::wait_for;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;

use crate::scene::{SECURE_SITES, Scene, revision, runs};

/// The instance, and the Certificate that it becomes.
const BAKERY: &str = "bakery";
/// The user of the graphs controller in spokes.
const GRAPHS_USER: &str = "system:serviceaccount:resource-broker-system:resource-graphs";
/// The user of the broker in consumers and providers.
const BROKER_USER: &str = "system:serviceaccount:resource-broker-system:resource-broker";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, lima, paris, tokyo, internal } = scene;
    stage.screen.heading("With the broker: a spoke's instance has a child at a provider");
    let defined = async {
        hub.apply(include_str!("../hub/securesite-rollout.yaml")).await?;
        hub.apply(include_str!("../../graphs/consumer/securesite.yaml")).await?;
        Thing::definition(hub, "securesite").until("Active", is_served).await?;
        runs(tokyo, SECURE_SITES, "1").await?;
        scene.until_distributed("securesite", "True", "1/1 clusters at revision 1").await?;
        for place in [lima, paris] {
            let found = revision(place, SECURE_SITES).await?;
            anyhow::ensure!(found.is_none(), "expected no SecureSites in {}, found revision {found:?}", place.name());
        }
        Ok(())
    };
    stage.step("hub: SecureSite, for spokes with label certificates=brokered: tokyo has it", defined).await?;
    let since = [tokyo.cluster.audit().settle().await?, internal.cluster.audit().settle().await?];
    let wanted = tokyo.apply(include_str!("../../graphs/consumer/bakery.yaml"));
    stage.step("tokyo: somebody wants SecureSite bakery", wanted).await?;
    let copied = async {
        let what = format!("a copy of Certificate {BAKERY} in internal-corp");
        let copy = wait_for(DEADLINE, &what, async || internal.copy_of::<Certificate>(BAKERY).await).await?;
        Ok(copy.name_any())
    };
    let what = "the graph makes a Certificate in tokyo, the broker its copy in internal-corp";
    let copy = stage.step(what, copied).await?;
    stage.screen.detail(&format!("copy: {copy}"));
    let active = async {
        let bakery = Thing::instance(tokyo, "SecureSite", BAKERY);
        let seen = bakery.until_active(|seen| seen["status"]["url"] == "https://bakery.internal.corp").await?;
        anyhow::ensure!(seen["status"]["certificate"] == "Available", "status {}", seen["status"]);
        tokyo.api::<ConfigMap>().get("bakery-server").await?;
        Ok(seen)
    };
    let seen = stage.step("status and Secret come back; the graph goes on, bakery is ACTIVE", active).await?;
    stage.screen.detail(&format!("status.url: {}", seen["status"]["url"]));

    let apart = async {
        let seen = tokyo.cluster.audit().settled_since(since[0]).await?;
        let (graphs, broker) = (seen.of(GRAPHS_USER).writes(), seen.of(BROKER_USER).writes());
        anyhow::ensure!(graphs.on("secrets").is_empty(), "the graph wrote Secrets: {:?}", graphs.counts());
        let made = broker.on("certificates").only(|event| event.verb == "create");
        anyhow::ensure!(made.is_empty() && !broker.on("secrets").is_empty(), "broker: {:?}", broker.counts());
        let at_provider = internal.cluster.audit().settled_since(since[1]).await?.of(GRAPHS_USER);
        anyhow::ensure!(at_provider.is_empty(), "graphs at the provider: {:?}", at_provider.counts());
        Ok(())
    };
    let what = "each wrote its own: the graph no Secret, the broker no Certificate; the provider knows no graphs";
    stage.step(what, apart).await
}
