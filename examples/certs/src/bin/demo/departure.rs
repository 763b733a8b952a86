//! A Certificate is deleted, and nothing of it stays anywhere.

use harness::wait_for;
use kube::ResourceExt;

use crate::{DEADLINE, arrival::SHOP, screen::Screen, stage::Stage};

pub(crate) async fn play(stage: &Stage, screen: &Screen) -> anyhow::Result<()> {
    let Stage { homer, corp, .. } = stage;
    let place = &corp.place;
    screen.heading("Deletion");
    let copy = place.copy_of(SHOP).await?.name_any();
    let gone = async {
        homer.delete(SHOP).await?;
        wait_for(DEADLINE, &format!("Certificate {SHOP} to be gone from homer"), async || {
            homer.certificates.get_opt(SHOP).await.map(|held| held.is_none())
        })
        .await?;
        // Its finalizer leaves only once the copy is gone, so there is nothing to wait for here.
        let held = place.certificates.get_opt(&copy).await?;
        anyhow::ensure!(held.is_none(), "expected the copy {copy} to be gone before its origin, it is still there");
        Ok(())
    };
    screen.step(&format!("homer deletes Certificate {SHOP}: first its copy is gone, then itself"), gone).await?;

    let collected = async {
        for (place, secret) in [(homer, format!("{SHOP}-tls")), (place, format!("{copy}-tls"))] {
            let what = format!("Secret {secret} to be gone from {}", place.name());
            wait_for(DEADLINE, &what, async || place.secrets.get_opt(&secret).await.map(|held| held.is_none())).await?;
        }
        Ok(())
    };
    screen.step("both Secrets are collected with their owners", collected).await
}
