//! A spoke is lost, and comes back.

use example_stage::Stage;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::{
    scene::{SHOPS, Scene, runs},
    shop::{self, WINDOW},
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { lima, paris, tokyo, .. } = scene;
    stage.screen.heading("A spoke is lost");
    lima.cluster.stop();
    let lost = scene.until_distributed("shop", "False", "2/3 clusters at revision 1; failing: spoke#lima");
    let told = stage.step("lima's API server is killed; the hub says so", lost).await?;
    stage.screen.detail(&format!("Distributed: {told}"));
    let unharmed = async {
        for place in [paris, tokyo] {
            shop::greet(place, "Open as ever").await?;
            shop::shows(place, "Open as ever").await?;
        }
        Ok(())
    };
    stage.step("paris and tokyo are served as before", unharmed).await?;
    let back = async {
        lima.cluster.start_again().await?;
        // Of before: nothing was concluded from its absence.
        runs(lima, SHOPS, "1").await?;
        lima.api::<ConfigMap>().get(WINDOW).await?;
        shop::greet(lima, "Here again").await?;
        shop::shows(lima, "Here again").await?;
        scene.until_distributed("shop", "True", "3/3").await
    };
    stage.step("lima is back, with all it had, and is served again", back).await.map(drop)
}
