//! A second revision, in waves. One spoke lacks a kind; the rollout stops there, and goes on when the spoke has it.

use example_stage::{Stage, Thing, thing::is_served};

use crate::{
    progress::{condition, follow, is_done},
    scene::{BACKUPS, SHOPS, Scene, revision},
    shop::{self, ADDED},
};

/// The spoke that fails.
const LIMA: &str = "spoke#lima";

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, lima, paris, tokyo, .. } = scene;
    stage.screen.heading("A new revision, in waves");
    let planned = async {
        hub.apply(include_str!("../hub/rollout.yaml")).await?;
        follow(scene, stage, "done with revision 1", |status| is_done(status, 1)).await
    };
    stage.step("hub: ResourceGraphRollout shop: first tier=canary, then the rest, one at a time", planned).await?;
    let edited = async {
        hub.apply(include_str!("../hub/shop-2.yaml")).await?;
        Thing::definition(hub, "shop").until("Active, as it is now", is_served).await
    };
    stage.step("hub: shop is edited: another text in the window, and a Backup", edited).await?;
    let stopped = async {
        let status = follow(scene, stage, "stopped in lima", |status| {
            let fails = |one: &broker_api::graphs::rollout::FailingCluster| {
                one.cluster == LIMA && one.reason == "KindMissing" && one.revision == 2
            };
            let stopped = condition(status, "Progressing").is_some_and(|held| held.reason == "Stopped");
            status.failing.iter().any(fails) && stopped && status.clusters.updated == 1
        })
        .await?;
        anyhow::ensure!(status.wave.as_deref() == Some("rest"), "it stopped in wave {:?}", status.wave);
        Ok(status)
    };
    let status = stage.step("paris gets it first; lima has no Backups: the rollout stops there", stopped).await?;
    for one in &status.failing {
        stage.screen.detail(&format!("failing: {}, {}: {}", one.cluster, one.reason, one.message));
    }
    if let Some(held) = condition(&status, "Progressing") {
        stage.screen.detail(&format!("Progressing={}, {}: {}", held.status, held.reason, held.message));
    }
    stage.screen.detail(&stage.kubectl(hub, &["get", "rgro", "shop"]).await?);
    let unharmed = async {
        shop::shows(paris, &(shop::greeting(paris) + ADDED)).await?;
        for place in [lima, tokyo] {
            let runs = revision(place, SHOPS).await?;
            anyhow::ensure!(runs.as_deref() == Some("1"), "{} runs revision {runs:?}", place.name());
            // What is made now is of the revision that the spoke runs.
            shop::greet(place, "Good evening").await?;
            shop::shows(place, "Good evening").await?;
        }
        Ok(())
    };
    stage.step("lima and tokyo are served on with revision 1, edits included", unharmed).await?;
    let told = async {
        let told = scene.until_distributed("shop", "False", LIMA).await?;
        let seen = Thing::definition(hub, "shop").get().await?;
        anyhow::ensure!(is_served(&seen), "status {}", seen["status"]);
        Ok(told)
    };
    let told = stage.step("the ResourceGraphDefinition says so, and is Ready all the same", told).await?;
    stage.screen.detail(&format!("Distributed: {told}"));

    let mended = async {
        lima.apply(BACKUPS).await?;
        follow(scene, stage, "done with revision 2", |status| is_done(status, 2)).await
    };
    stage.step("lima: kind Backup is installed; the rollout goes on by itself, to its end", mended).await?;
    let shown = async {
        for (place, greeting) in
            [(lima, "Good evening"), (paris, shop::greeting(paris).as_str()), (tokyo, "Good evening")]
        {
            shop::shows(place, &format!("{greeting}{ADDED}")).await?;
            stage.kubectl(place, &["get", "backups.storage.example.org", shop::CORNER]).await?;
        }
        Ok(())
    };
    stage.step("all three shops show the new text, and have a Backup", shown).await
}
