//! The clusters and programs of the demo.

use broker_api::{AcceptApi, Availability, MigrationConfiguration, generic::databases::KeyValue};
use example_stage::{DEADLINE, Installation, Kind, Place, Stage, installation::SYSTEM};
use harness::wait_for;

/// The clusters.
pub(crate) struct Scene {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    pub(crate) classic: Place,
    pub(crate) modern: Place,
}

impl Scene {
    /// Starts clusters, broker and providers, until offers and configuration are in use.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        stage.screen.heading("Clusters");
        let what = "four API servers: hub (coordination), homer (consumer), classic, modern (providers)";
        let clusters = stage.clusters(["hub", "homer", "classic", "modern"]);
        let [hub, homer, classic, modern] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&homer],
            providers: &[&classic, &modern],
            spokes: &[],
            kinds: &[Kind::of::<KeyValue>()],
            jobs: true,
        };
        Box::pin(installation.run(stage)).await?;

        stage.screen.heading("Offers");
        let offers = [
            (&classic, "7.*", include_str!("../../classic/acceptapi.yaml")),
            (&modern, "8.*", include_str!("../../modern/acceptapi.yaml")),
        ];
        for (place, versions, yaml) in offers {
            let offer = async {
                stage.start_in(place, "keyvalue-provider", &[])?;
                place.apply(yaml).await?;
                place.until_ready::<AcceptApi>("keyvalues").await
            };
            let what = format!("keyvalue-provider in {}, which accepts version {versions}", place.name());
            stage.step(&what, offer).await?;
        }
        let configure = async {
            hub.apply(include_str!("../../hub/migrationconfiguration.yaml")).await?;
            hub.until_ready_in::<MigrationConfiguration>(SYSTEM, "keyvalues").await
        };
        stage.step("hub: MigrationConfiguration keyvalues says what a move takes", configure).await?;
        Ok(Self { hub, homer, classic, modern })
    }
}

/// Waits for the one KeyValue of a cluster to be available.
pub(crate) async fn available(place: &Place) -> anyhow::Result<KeyValue> {
    wait_for(DEADLINE, &format!("an available KeyValue in {}", place.name()), async || {
        let mut held = place.list::<KeyValue>().await?;
        anyhow::ensure!(held.len() == 1, "{} of them", held.len());
        let held = held.remove(0);
        let status = held.status.clone().unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "{status:?}");
        Ok(held)
    })
    .await
}
