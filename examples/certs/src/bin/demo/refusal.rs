//! A Certificate that no provider accepts is told why.

use broker_api::condition::BROKERED;
use harness::wait_for;

use crate::{DEADLINE, place::condition, screen::Screen, stage::Stage};

/// The Certificate that no provider accepts. It stays, for the person to edit.
pub(crate) const ELSEWHERE: &str = "elsewhere";

pub(crate) async fn play(stage: &Stage, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("Nobody accepts it");
    let yaml = include_str!("../../../consumer/certificate-unserved.yaml");
    let what = format!("homer wants Certificate {ELSEWHERE} for www.example.org");
    screen.step(&what, stage.homer.apply(yaml)).await?;
    let told = screen.step("condition Brokered is False and says who refused what", refused(stage)).await?;
    screen.detail(&told);
    Ok(())
}

async fn refused(stage: &Stage) -> anyhow::Result<String> {
    let told = wait_for(DEADLINE, "Brokered=False with a refusal from each provider", async || {
        let certificate = stage.homer.certificates.get(ELSEWHERE).await?;
        let brokered = condition(&certificate, BROKERED);
        match brokered {
            Some((status, told))
                if status == "False" && told.contains(".internal.corp") && told.contains(".corp.com") =>
            {
                anyhow::Ok(told)
            }
            other => anyhow::bail!("Brokered is {other:?}"),
        }
    })
    .await?;
    for provider in [&stage.internal, &stage.corp] {
        let copies = provider.place.copies_of(ELSEWHERE).await?.len();
        anyhow::ensure!(copies == 0, "expected no copy of it in {}, found {copies}", provider.place.name());
    }
    Ok(told)
}
