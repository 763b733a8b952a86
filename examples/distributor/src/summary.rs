//! Which cluster runs which revision, and what to try.

use broker_api::graphs::keys::OFFBOARD;
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use example_stage::{
    Stage,
    installation::{CLUSTERS, GRAPHS},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _};

use crate::{
    scene::{SECURE_SITES, SHOPS, Scene, revision},
    shop,
};

const FOLDER: &str = "examples/distributor";

pub(crate) async fn show(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, lima, tokyo, internal, .. } = scene;
    stage.screen.heading("Which cluster runs which revision");
    let secrets = Api::<Secret>::namespaced(hub.client.clone(), CLUSTERS);
    let mut table = Table::new();
    let header = ["spoke", "tier", "served", "revision of Shop", "of SecureSite", "Shop corner", "its window"];
    table.load_preset(UTF8_FULL_CONDENSED).set_header(header);
    for place in scene.spokes() {
        let secret = secrets.get(place.name()).await?;
        let label = |key: &str| secret.labels().get(key).cloned();
        let served = if label(OFFBOARD).is_some() { "no" } else { "yes" };
        let corner = shop::shop(place).get().await?;
        let told = |field: &str| corner["status"][field].as_str().unwrap_or("-").to_owned();
        let runs = [revision(place, SHOPS).await?, revision(place, SECURE_SITES).await?];
        let [shops, sites] = runs.map(|revision| revision.unwrap_or_else(|| "-".to_owned()));
        let tier = label("tier").unwrap_or_default();
        table.add_row([place.name().to_owned(), tier, served.to_owned(), shops, sites, told("state"), told("window")]);
    }
    stage.screen.say(&table.to_string());
    stage.suggest(&[
        (hub, "get rgd,rgro"),
        (hub, "patch rgro shop --type merge -p '{\"spec\":{\"revision\":1}}'"),
        (hub, "get rgro shop --watch"),
        (hub, &format!("-n {CLUSTERS} label secret paris broker.platform-mesh.io/offboard-")),
        (lima, "get shops,backups,configmaps"),
        (lima, &format!("delete -f {FOLDER}/spoke/corner.yaml")),
        (tokyo, "get securesites,excert,secrets"),
        (internal, "get excert,secrets"),
    ])?;
    let log = stage.lab.directory().join(format!("{GRAPHS}.log"));
    stage.screen.say(&format!("The log of {GRAPHS} is {}.", log.display()));
    Ok(())
}
