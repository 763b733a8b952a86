//! Back to the revision before, by naming it.

use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use serde_json::Value;

use crate::{
    progress::{follow, is_done},
    scene::Scene,
    shop::{self, ADDED, CORNER},
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("And back");
    let back = async {
        scene.aim(Some(1)).await?;
        follow(scene, stage, "done with revision 1", |status| is_done(status, 1)).await
    };
    stage.step("hub: spec.revision of the rollout is 1; wave by wave all go back", back).await?;
    let restored = async {
        for place in scene.spokes() {
            let old = |seen: &Value| {
                seen["status"]["window"].as_str().is_some_and(|text| !text.is_empty() && !text.ends_with(ADDED))
            };
            shop::shop(place).until_active(old).await?;
            wait_for(DEADLINE, &format!("no Backup in {}", place.name()), async || {
                let args = ["get", "backups.storage.example.org", CORNER, "--ignore-not-found"];
                let found = stage.kubectl(place, &args).await?;
                anyhow::ensure!(found.is_empty(), "{found}");
                Ok(())
            })
            .await?;
        }
        Ok(())
    };
    stage.step("the shops show the old text; the Backups are gone, which revision 1 does not have", restored).await
}
