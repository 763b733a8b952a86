//! An instance is deleted, and all that it became goes with it, in both clusters.

use broker_api::example::Certificate;
use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::{
    brokered::{BAKERY, SECRET, bakery},
    scene::Scene,
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, internal, .. } = scene;
    stage.screen.heading("Its user deletes it");
    let gone = async {
        bakery(homer).delete().await?;
        bakery(homer).gone().await?;
        let left = homer.api::<Certificate>().get_opt(BAKERY).await?;
        anyhow::ensure!(left.is_none(), "expected the Certificate to go before the instance");
        homer.gone::<ConfigMap>("bakery-server").await?;
        homer.gone::<Secret>(SECRET).await?;
        wait_for(DEADLINE, "no copy of the Certificate", async || {
            let copies = internal.copies_of::<Certificate>(BAKERY).await?.len();
            anyhow::ensure!(copies == 0, "there are {copies}");
            Ok(())
        })
        .await
    };
    stage
        .step("SecureSite bakery: its Certificate goes first, with the copy at the provider and the Secret", gone)
        .await
}
