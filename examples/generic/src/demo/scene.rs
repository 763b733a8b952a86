//! The clusters and programs of the demo.

use crate::product::{Generic, Vessel, product_name};
use broker_api::{
    AcceptApi, Availability,
    condition::BROKERED,
    generic::{
        compute::{KubernetesCluster, VirtualMachine},
        databases::Sql,
    },
    keys,
};
use example_stage::{DEADLINE, Installation, Kind, Place, Stage};
use harness::wait_for;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;

/// Names of the AcceptAPIs of each provider: plurals of the kinds.
const OFFERS: [&str; 3] = ["virtualmachines", "sqls", "kubernetesclusters"];

/// The clusters.
pub(crate) struct Scene {
    pub(crate) homer: Place,
    pub(crate) edge: Place,
    pub(crate) region: Place,
}

impl Scene {
    /// Starts clusters, broker and providers, until all offers are in use.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        stage.screen.heading("Clusters");
        let what = "four API servers: hub (coordination), homer (consumer), edge, region (providers)";
        let clusters = stage.clusters(["hub", "homer", "edge", "region"]);
        let [hub, homer, edge, region] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&homer],
            providers: &[&edge, &region],
            spokes: &[],
            kinds: &[Kind::of::<VirtualMachine>(), Kind::of::<KubernetesCluster>(), Kind::of::<Sql>()],
            jobs: false,
        };
        Box::pin(installation.run(stage)).await?;

        stage.screen.heading("Offers");
        let offers = [
            (&edge, include_str!("../../edge/acceptapis.yaml")),
            (&region, include_str!("../../region/acceptapis.yaml")),
        ];
        for (place, yaml) in offers {
            let offer = async {
                stage.start_in(place, "generic-provider", &["--domain", &format!("{}.example.com", place.name())])?;
                place.apply(yaml).await?;
                for name in OFFERS {
                    place.until_ready::<AcceptApi>(name).await?;
                }
                Ok(())
            };
            let what = format!("generic-provider in {}, and its AcceptAPIs: {}", place.name(), OFFERS.join(", "));
            stage.step(&what, offer).await?;
        }
        Ok(Self { homer, edge, region })
    }

    /// How many copies of a kind there are in `edge` and in `region`.
    pub(crate) async fn counts<K: Generic>(&self) -> anyhow::Result<[usize; 2]> {
        Ok([self.edge.copies::<K>().await?.len(), self.region.copies::<K>().await?.len()])
    }
}

/// Waits until an object of the consumer is served, with all that belongs to it. Returns the provider that serves it.
pub(crate) async fn served<K: Generic>(homer: &Place, name: &str) -> anyhow::Result<String> {
    wait_for(DEADLINE, &format!("{} {name} to be available in homer", K::kind(&())), async || {
        let object = homer.api::<K>().get(name).await?;
        let status = object.status().cloned().unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "status.status is {:?}", status.status);
        let brokered = status.conditions.iter().find(|held| held.type_ == BROKERED);
        anyhow::ensure!(brokered.is_some_and(|held| held.status == "True"), "Brokered is {brokered:?}");
        let product = product_name::<K>(name);
        let related = status.related_resources.get(K::RELATED).map(|related| related.name.as_str());
        anyhow::ensure!(related == Some(&product), "status.relatedResources.{} is {related:?}", K::RELATED);
        match K::VESSEL {
            Vessel::Secret => drop(homer.api::<Secret>().get(&product).await?),
            Vessel::ConfigMap => drop(homer.api::<ConfigMap>().get(&product).await?),
        }
        let provider = object.annotations().get(keys::PROVIDER_CLUSTER).cloned();
        provider.ok_or_else(|| anyhow::anyhow!("no annotation {}", keys::PROVIDER_CLUSTER))
    })
    .await
}
