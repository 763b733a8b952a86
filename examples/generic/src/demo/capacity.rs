//! By capacity: clusters, until there is no room for more.

use broker_api::{AcceptApi, condition::BROKERED, generic::compute::KubernetesCluster};
use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use kube::ResourceExt;
use serde_json::json;

use super::scene::{Scene, served};

/// Name of the AcceptAPIs.
const OFFER: &str = "kubernetesclusters";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, edge, region } = scene;
    stage.screen.heading("By priority and capacity: clusters");
    let what = "homer wants five KubernetesClusters; edge is preferred and has room for two, region for two more";
    stage.step(what, homer.apply(include_str!("../../consumer/kubernetesclusters.yaml"))).await?;

    let full = async {
        let waiting = wait_for(DEADLINE, "two clusters in each provider, and one that waits", async || {
            let mut waiting = Vec::new();
            for cluster in homer.list::<KubernetesCluster>().await? {
                let status = cluster.status.clone().unwrap_or_default();
                let brokered = status.conditions.into_iter().find(|held| held.type_ == BROKERED);
                match brokered {
                    Some(held) if held.status == "True" => {}
                    Some(held) => waiting.push((cluster.name_any(), held)),
                    None => anyhow::bail!("{} was not looked at yet", cluster.name_any()),
                }
            }
            let counts = scene.counts::<KubernetesCluster>().await?;
            anyhow::ensure!(counts == [2, 2] && waiting.len() == 1, "{counts:?} are placed, {} wait", waiting.len());
            anyhow::ensure!(waiting.iter().all(|(_, held)| held.reason == "NoProvider"), "{waiting:?}");
            Ok(waiting.remove(0))
        });
        waiting.await
    };
    let (name, refused) = stage.step("two are in edge, two in region, and one waits: nobody has room", full).await?;
    stage.screen.detail(&format!("{name}: {}: {}", refused.reason, refused.message));

    let raised = async {
        region.edit::<AcceptApi>(OFFER, json!({ "spec": { "capacity": 3 } })).await?;
        let by = served::<KubernetesCluster>(homer, &name).await?;
        anyhow::ensure!(by == region.name(), "expected {name} in region, it is in {by}");
        let counts = scene.counts::<KubernetesCluster>().await?;
        anyhow::ensure!(counts == [2, 3], "expected two clusters in edge and three in region, there are {counts:?}");
        Ok(())
    };
    stage.step(&format!("region raises its capacity to 3: {name} is placed there, nobody else moves"), raised).await?;

    let shown = async {
        // `placed` is written behind the placement.
        wait_for(DEADLINE, "status.placed of both AcceptAPIs", async || {
            for (place, wanted) in [(edge, 2), (region, 3)] {
                let placed = place.api::<AcceptApi>().get(OFFER).await?.status.unwrap_or_default().placed;
                anyhow::ensure!(placed == Some(wanted), "{placed:?} in {}", place.name());
            }
            Ok(())
        })
        .await?;
        anyhow::Ok([
            stage.kubectl(homer, &["get", "gvm,gkc"]).await?,
            stage.kubectl(edge, &["get", "acceptapis"]).await?,
            stage.kubectl(region, &["get", "acceptapis"]).await?,
        ])
    };
    let [wanted, offered, more] =
        stage.step("kubectl shows it: what is wanted, and how full each offer is", shown).await?;
    for (title, text) in [
        ("homer: kubectl get gvm,gkc", wanted),
        ("edge: kubectl get acceptapis", offered),
        ("region: kubectl get acceptapis", more),
    ] {
        stage.screen.detail(&format!("{title}\n{text}\n "));
    }
    Ok(())
}
