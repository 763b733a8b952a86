//! A Certificate is deleted, and nothing of it stays anywhere.

use broker_api::example::Certificate;
use example_stage::Stage;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::{arrival::SHOP, scene::Scene};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, corp, .. } = scene;
    let place = &corp.place;
    stage.screen.heading("Deletion");
    let copy = place.copy_of::<Certificate>(SHOP).await?.name_any();
    let deleted = async {
        homer.delete::<Certificate>(SHOP).await?;
        homer.gone::<Certificate>(SHOP).await?;
        // Its finalizer leaves only once the copy is gone, so there is nothing to wait for here.
        let held = place.api::<Certificate>().get_opt(&copy).await?;
        anyhow::ensure!(held.is_none(), "expected the copy {copy} to be gone before its origin, it is still there");
        Ok(())
    };
    stage.step(&format!("homer deletes Certificate {SHOP}: first its copy is gone, then itself"), deleted).await?;

    let collected = async {
        for (place, secret) in [(homer, format!("{SHOP}-tls")), (place, format!("{copy}-tls"))] {
            place.gone::<Secret>(&secret).await?;
        }
        Ok(())
    };
    stage.step("both Secrets are collected with their owners", collected).await
}
