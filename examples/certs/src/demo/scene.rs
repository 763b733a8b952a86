//! The clusters and programs of the demo, and how they are started.

use crate::{authority, secret::CERTIFICATE};
use anyhow::Context as _;
use broker_api::{AcceptApi, example::Certificate};
use example_stage::{DEADLINE, Installation, Kind, Place, Stage};
use harness::{Mark, wait_for};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;

const CA_NAMESPACE: &str = "cert-provider";

/// A cluster that serves Certificates.
pub(crate) struct Provider {
    pub(crate) place: Place,
    /// Common name of its authority.
    pub(crate) issuer: String,
    /// Certificate of its authority, PEM.
    pub(crate) authority: String,
}

/// The clusters.
pub(crate) struct Scene {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    pub(crate) internal: Provider,
    pub(crate) corp: Provider,
    /// Where the audit log of each cluster was after the installation, in the order of [`Scene::places`].
    pub(crate) installed: Vec<Mark>,
}

impl Scene {
    /// Starts clusters, broker and providers, until each provider's AcceptAPI is in use.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        stage.screen.heading("Clusters");
        let what = "four API servers: hub (coordination), homer (consumer), internal-corp, corp-com (providers)";
        let clusters = stage.clusters(["hub", "homer", "internal-corp", "corp-com"]);
        let [hub, homer, internal, corp] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&homer],
            providers: &[&internal, &corp],
            spokes: &[],
            kinds: &[Kind::of::<Certificate>()],
            jobs: true,
        };
        Box::pin(installation.run(stage)).await?;
        let mut installed = Vec::new();
        for place in [&hub, &homer, &internal, &corp] {
            installed.push(place.cluster.audit().settle().await?);
        }

        stage.screen.heading("Offers");
        let internal = provider(stage, internal, "internal.corp CA").await?;
        let corp = provider(stage, corp, "corp.com CA").await?;
        let offers = [
            (&internal, "*.internal.corp", include_str!("../../internal-corp/acceptapi.yaml")),
            (&corp, "*.corp.com", include_str!("../../corp-com/acceptapi.yaml")),
        ];
        for (Provider { place, .. }, names, yaml) in offers {
            let offer = async {
                place.apply(yaml).await?;
                place.until_ready::<AcceptApi>("certificates").await
            };
            stage.step(&format!("provider {} accepts {names}", place.name()), offer).await?;
        }
        Ok(Self { hub, homer, internal, corp, installed })
    }

    /// All clusters.
    pub(crate) fn places(&self) -> [&Place; 4] {
        [&self.hub, &self.homer, &self.internal.place, &self.corp.place]
    }
}

async fn provider(stage: &Stage, place: Place, issuer: &str) -> anyhow::Result<Provider> {
    let what = format!("cert-provider in {}, with its authority {issuer:?}", place.name());
    let work = async {
        stage.start_in(&place, "cert-provider", &["--issuer-name", issuer, "--ca-namespace", CA_NAMESPACE])?;
        authority(&place).await
    };
    let authority = stage.step(&what, work).await?;
    Ok(Provider { place, issuer: issuer.to_owned(), authority })
}

async fn authority(place: &Place) -> anyhow::Result<String> {
    let secrets = Api::<Secret>::namespaced(place.client.clone(), CA_NAMESPACE);
    wait_for(DEADLINE, "the authority's Secret", async || {
        let secret = secrets.get(authority::SECRET).await?;
        let data = secret.data.unwrap_or_default();
        let certificate = data.get(CERTIFICATE).context("it has no tls.crt")?;
        anyhow::Ok(String::from_utf8(certificate.0.clone())?)
    })
    .await
}
