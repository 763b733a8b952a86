//! Waiting for a rollout, while a person watches.

use anyhow::Context as _;
use broker_api::graphs::{ResourceGraphRollout, ResourceGraphRolloutStatus};
use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::scene::{SHOPS, Scene, revision};

/// The rollout of Shops, as it is now, once its status `fits`. Each change of it, and of what spokes run, is told.
pub(crate) async fn follow(
    scene: &Scene,
    stage: &Stage,
    wanted: &str,
    fits: impl Fn(&ResourceGraphRolloutStatus) -> bool,
) -> anyhow::Result<ResourceGraphRolloutStatus> {
    let mut told = String::new();
    wait_for(DEADLINE, &format!("ResourceGraphRollout shop to be {wanted}"), async || {
        let rollout = scene.rollouts().get("shop").await?;
        let line = line(scene, &rollout).await?;
        if line != told {
            stage.screen.say(&format!("          {line}"));
            told.clone_from(&line);
        }
        let status = rollout.status.filter(|status| Some(status.observed_generation) == rollout.metadata.generation);
        let status = status.context("it does not speak of its spec as it is now")?;
        anyhow::ensure!(fits(&status), "it is {line}; {:?}", status.conditions);
        Ok(status)
    })
    .await
}

async fn line(scene: &Scene, rollout: &ResourceGraphRollout) -> anyhow::Result<String> {
    let mut runs = Vec::new();
    for place in scene.spokes() {
        let revision = revision(place, SHOPS).await?.unwrap_or_else(|| "-".to_owned());
        runs.push(format!("{} runs {revision}", place.name()));
    }
    let runs = runs.join(", ");
    let Some(status) = &rollout.status else { return Ok(runs) };
    let target = status.target_revision.map_or_else(|| "-".to_owned(), |target| target.to_string());
    let wave = status.wave.as_deref().map(|wave| format!(", wave {wave}")).unwrap_or_default();
    let counts = status.clusters;
    let failing: Vec<_> = status.failing.iter().map(|one| format!("; {}: {}", one.cluster, one.reason)).collect();
    Ok(format!("{runs} | to {target}{wave}: {}/{} updated{}", counts.updated, counts.total, failing.concat()))
}

/// A condition of a rollout.
pub(crate) fn condition<'a>(status: &'a ResourceGraphRolloutStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|held| held.type_ == kind)
}

/// Whether all clusters run this revision.
pub(crate) fn is_done(status: &ResourceGraphRolloutStatus, revision: i64) -> bool {
    let complete = condition(status, "Progressing").is_some_and(|held| held.reason == "Complete");
    status.target_revision == Some(revision) && status.clusters.updated == status.clusters.total && complete
}
