//! A Certificate that no provider accepts is told why.

use broker_api::{condition::BROKERED, example::Certificate};
use example_stage::Stage;

use super::scene::Scene;

/// The Certificate that no provider accepts. It stays, for the person to edit.
pub(crate) const ELSEWHERE: &str = "elsewhere";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("Nobody accepts it");
    let yaml = include_str!("../../consumer/certificate-unserved.yaml");
    let what = format!("homer wants Certificate {ELSEWHERE} for www.example.org");
    stage.step(&what, scene.homer.apply(yaml)).await?;
    let told = stage.step("condition Brokered is False and says who refused what", refused(scene)).await?;
    stage.screen.detail(&told);
    Ok(())
}

async fn refused(scene: &Scene) -> anyhow::Result<String> {
    // Each of the providers is named with its rule.
    let told = |message: &str| message.contains(".internal.corp") && message.contains(".corp.com");
    let brokered =
        scene.homer.until::<Certificate>(ELSEWHERE, BROKERED, |held| held.status == "False" && told(&held.message));
    let brokered = brokered.await?;
    for provider in [&scene.internal, &scene.corp] {
        let copies = provider.place.copies_of::<Certificate>(ELSEWHERE).await?.len();
        anyhow::ensure!(copies == 0, "expected no copy of it in {}, found {copies}", provider.place.name());
    }
    Ok(format!("{}: {}", brokered.reason, brokered.message))
}
