//! The same kind at another provider, without code.

use example_stage::{DEADLINE, Place, Stage, Thing, controllers, installation::GRAPHS, thing::is_served};
use harness::{Mark, Program, wait_for};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::json;

use crate::{
    delivery::{no_secrets, served},
    offer::{join, offer},
    scene::Scene,
};

const CRDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/crd-graphs");
/// Namespace of `resource-graphs` and its ServiceAccount.
const SYSTEM: &str = "resource-graphs-system";
/// Who it is to the API server.
pub(crate) const GRAPHS_USER: &str = "system:serviceaccount:resource-graphs-system:resource-graphs";
/// The object that somebody wants.
const BACKUPS: &str = "backups";
/// What the graph puts into a Secret.
const KEYS: [&str; 2] = ["endpoint", "bucket"];

/// Returns where the audit log of `nestor` was when its rights were in force.
pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<Mark> {
    let Scene { homer, nestor, copied, .. } = scene;
    stage.screen.heading("Without code");
    let installed = async {
        stage.kubectl(nestor, &["apply", "--server-side", "-k", CRDS]).await?;
        copied.apply(nestor, "graph/rbac.yaml").await?;
        start(nestor, stage).await
    };
    stage.step("nestor: resource-graphs, with the rights of my-provider/graph/rbac.yaml", installed).await?;
    let defined = async {
        copied.apply(nestor, "graph/graph.yaml").await?;
        Thing::definition(nestor, "buckets").until("Active", is_served).await
    };
    stage.step("nestor: kubectl apply -f my-provider/graph/graph.yaml makes the kind", defined).await?;
    let mark = nestor.cluster.audit().settle().await?;
    stage.control(nestor, &controllers::TOKENS)?;
    let accept_api = copied.read("config/acceptapi.yaml")?.replace("[eu]", "[us]");
    stage.step("nestor: the same AcceptAPI, for region us", offer(nestor, &accept_api)).await?;
    join(stage, nestor).await?;

    let wanted =
        copied.read("bucket.yaml")?.replace("name: photos", "name: backups").replace("region: eu", "region: us");
    stage.step("homer: somebody wants a Bucket in region us", homer.apply(&wanted)).await?;
    let (seen, _) =
        stage.step("nestor serves it: its Secret is in homer", served(homer, BACKUPS, nestor, &KEYS)).await?;
    anyhow::ensure!(seen["status"].get("state").is_none(), "the kind has no status.state: {}", seen["status"]);
    let backups = Scene::bucket(homer, BACKUPS);
    let edited = async {
        backups.edit(json!({"spec": {"size": 8}})).await?;
        has_size(nestor, "8 GiB").await?;
        served(homer, BACKUPS, nestor, &KEYS).await.map(drop)
    };
    stage.step("8 GiB in place of 5: what it became follows", edited).await?;
    stage.screen.detail(&stage.kubectl(nestor, &["get", "bucket,configmap,secret"]).await?);
    let deleted = async {
        stage.kubectl(homer, &["delete", "bucket", BACKUPS, "--timeout=60s"]).await?;
        no_secrets(homer, nestor, BACKUPS).await?;
        nestor.none::<ConfigMap>("of the Bucket", is_thing).await
    };
    stage.step("deleted, it leaves nothing behind", deleted).await?;
    Ok(mark)
}

async fn start(nestor: &Place, stage: &Stage) -> anyhow::Result<()> {
    let kubeconfig = stage.lab.directory().join(format!("{GRAPHS}.kubeconfig"));
    nestor.write_kubeconfig_of(SYSTEM, GRAPHS, &kubeconfig).await?;
    let program =
        Program::new(GRAPHS, harness::binary(GRAPHS)?).env("NO_COLOR", "1").arg("--kubeconfig").arg(kubeconfig);
    // Nobody asks it, and the addresses may be taken on this machine.
    stage.start(&program.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]))
}

/// Whether it stands for the bucket.
fn is_thing(held: &ConfigMap) -> bool {
    held.name_any().ends_with("-backups-bucket")
}

async fn has_size(nestor: &Place, size: &str) -> anyhow::Result<()> {
    wait_for(DEADLINE, &format!("a bucket of {size} in nestor"), async || {
        let mut things = nestor.list::<ConfigMap>().await?;
        things.retain(is_thing);
        let sizes: Vec<_> = things.iter().map(|thing| thing.data.as_ref().and_then(|data| data.get("size"))).collect();
        anyhow::ensure!(sizes.len() == 1 && sizes[0].is_some_and(|held| held == size), "sizes: {sizes:?}");
        Ok(())
    })
    .await
}
