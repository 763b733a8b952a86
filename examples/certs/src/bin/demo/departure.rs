//! A Certificate is deleted, and nothing of it stays anywhere.

use kube::ResourceExt;

use crate::{arrival::SHOP, place::gone, screen::Screen, stage::Stage};

pub(crate) async fn play(stage: &Stage, screen: &Screen) -> anyhow::Result<()> {
    let Stage { homer, corp, .. } = stage;
    let place = &corp.place;
    screen.heading("Deletion");
    let copy = place.copy_of(SHOP).await?.name_any();
    let deleted = async {
        homer.delete(SHOP).await?;
        gone(&homer.certificates, &format!("Certificate {SHOP} in homer"), SHOP).await?;
        // Its finalizer leaves only once the copy is gone, so there is nothing to wait for here.
        let held = place.certificates.get_opt(&copy).await?;
        anyhow::ensure!(held.is_none(), "expected the copy {copy} to be gone before its origin, it is still there");
        Ok(())
    };
    screen.step(&format!("homer deletes Certificate {SHOP}: first its copy is gone, then itself"), deleted).await?;

    let collected = async {
        for (place, secret) in [(homer, format!("{SHOP}-tls")), (place, format!("{copy}-tls"))] {
            gone(&place.secrets, &format!("Secret {secret} in {}", place.name()), &secret).await?;
        }
        Ok(())
    };
    screen.step("both Secrets are collected with their owners", collected).await
}
