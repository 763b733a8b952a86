//! The clusters and programs of the demo.

use anyhow::Context as _;
use broker_api::{
    AcceptApi,
    example::Certificate,
    graphs::{ResourceGraphRollout, keys::GRAPH_REVISION},
};
use example_stage::{DEADLINE, Installation, Kind, Place, Stage, Thing, installation::GRAPHS, thing::message};
use harness::wait_for;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

/// Kinds that somebody brings to a spoke.
pub(crate) const BACKUPS: &str = include_str!("../spoke/backups.yaml");
/// Name of the CRD of Shops.
pub(crate) const SHOPS: &str = "shops.platform.example.org";
/// Name of the CRD of SecureSites.
pub(crate) const SECURE_SITES: &str = "securesites.platform.example.org";

/// The clusters.
pub(crate) struct Scene {
    pub(crate) hub: Place,
    pub(crate) lima: Place,
    pub(crate) paris: Place,
    pub(crate) tokyo: Place,
    pub(crate) internal: Place,
}

impl Scene {
    /// Starts clusters, operator, broker, graphs controller and provider. No spoke is known to the hub.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        // Before anything starts: it says how it is built.
        harness::binary(GRAPHS)?;
        stage.screen.heading("Clusters");
        let what = "five API servers: hub; lima, paris, tokyo (spokes); internal-corp (provider)";
        let clusters = stage.clusters(["hub", "lima", "paris", "tokyo", "internal-corp"]);
        let [hub, lima, paris, tokyo, internal] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&tokyo],
            providers: &[&internal],
            spokes: &[&lima, &paris, &tokyo],
            kinds: &[Kind::of::<Certificate>()],
            jobs: false,
        };
        Box::pin(installation.run(stage)).await?;
        let offer = async {
            stage.start_in(&internal, "cert-provider", &["--issuer-name", "internal.corp CA"])?;
            internal.apply(include_str!("../../graphs/internal-corp/acceptapi.yaml")).await?;
            internal.until_ready::<AcceptApi>("certificates").await
        };
        stage.step("internal-corp issues Certificates for *.internal.corp", offer).await?;
        Ok(Self { hub, lima, paris, tokyo, internal })
    }

    /// In order of their names.
    pub(crate) fn spokes(&self) -> [&Place; 3] {
        [&self.lima, &self.paris, &self.tokyo]
    }

    /// All rollouts.
    pub(crate) fn rollouts(&self) -> Api<ResourceGraphRollout> {
        Api::all(self.hub.client.clone())
    }

    /// Says which revision of Shops spokes get; none is the newest.
    pub(crate) async fn aim(&self, revision: Option<i64>) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"spec": {"revision": revision}}));
        self.rollouts().patch("shop", &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until an RGD says this of its clusters.
    pub(crate) async fn until_distributed(&self, name: &str, status: &str, words: &str) -> anyhow::Result<String> {
        let says = |seen: &Value| message(seen, "Distributed", status).map(str::to_owned);
        let fits = |seen: &Value| says(seen).is_some_and(|told| told.contains(words));
        let wanted = format!("Distributed={status} with {words:?}");
        let seen = Thing::definition(&self.hub, name).until(&wanted, fits).await?;
        says(&seen).context("a message")
    }
}

/// The revision of a kind that a cluster runs, as its CRD says; none where there is no such CRD.
pub(crate) async fn revision(place: &Place, crd: &str) -> anyhow::Result<Option<String>> {
    let crds = Api::<CustomResourceDefinition>::all(place.client.clone());
    let crd = crds.get_opt(crd).await.with_context(|| format!("cannot read CRD {crd} in {}", place.name()))?;
    Ok(crd.and_then(|crd| crd.annotations().get(GRAPH_REVISION).cloned()))
}

/// Waits until a cluster runs this revision of a kind, and serves the kind.
pub(crate) async fn runs(place: &Place, crd: &str, wanted: &str) -> anyhow::Result<()> {
    let what = format!("revision {wanted} of {crd} in {}", place.name());
    let crds = Api::<CustomResourceDefinition>::all(place.client.clone());
    wait_for(DEADLINE, &what, async || {
        let seen = crds.get(crd).await?;
        let runs = seen.annotations().get(GRAPH_REVISION);
        let conditions = seen.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let served = conditions.iter().any(|held| held.type_ == "Established" && held.status == "True");
        anyhow::ensure!(runs.is_some_and(|runs| runs == wanted) && served, "it runs {runs:?}, served: {served}");
        Ok(())
    })
    .await
}
