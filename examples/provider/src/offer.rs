//! The broker is installed, the provider says what it takes, and joins.

use anyhow::Context as _;
use broker_api::AcceptApi;
use example_stage::{Installation, Place, Stage};

use crate::scene::{OFFER, Scene};

const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, homer, theseus, copied, .. } = scene;
    stage.screen.heading("The platform team");
    stage.step("homer: the kind, from the same crd.yaml", copied.apply(homer, "config/crd.yaml")).await?;
    let installation =
        Installation { hub, consumers: &[homer], providers: &[], spokes: &[], kinds: &[Scene::kind()], jobs: false };
    Box::pin(installation.run(stage)).await?;

    stage.screen.heading("The provider joins");
    let what = "theseus: CRD of AcceptAPI, and the template's config/acceptapi.yaml: region eu";
    stage.step(what, offer(theseus, &copied.read("config/acceptapi.yaml")?)).await?;
    join(stage, theseus).await
}

/// Says in a provider what it takes.
pub(crate) async fn offer(place: &Place, accept_api: &str) -> anyhow::Result<()> {
    Box::pin(place.install(|name| name == ACCEPT_APIS)).await?;
    place.apply(accept_api).await
}

/// Brings a provider to the broker. The broker uses its AcceptAPI at the end.
pub(crate) async fn join(stage: &Stage, place: &Place) -> anyhow::Result<()> {
    let name = place.name();
    let kubeconfig = stage.lab.directory().join(format!("{name}.kubeconfig"));
    let kubeconfig = kubeconfig.to_str().context("a path that is text")?;
    let said = stage
        .step(
            &format!("kubectl broker join {name} --role provider"),
            stage.kubectl_broker(&["join", name, "--role", "provider", "--member-kubeconfig", kubeconfig]),
        )
        .await?;
    stage.screen.detail(&said);
    stage.step("the broker uses its AcceptAPI", place.until_ready::<AcceptApi>(OFFER)).await
}
