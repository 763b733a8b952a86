//! One RGD in the hub; clusters become spokes, and people in them have the kind.

use example_stage::{Stage, Thing, installation::join, thing::is_served};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;

use crate::{
    scene::{BACKUPS, SHOPS, Scene, runs},
    shop,
};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, lima, paris, tokyo, .. } = scene;
    stage.screen.heading("Defined once");
    let defined = async {
        hub.apply(include_str!("../hub/permissions.yaml")).await?;
        hub.apply(include_str!("../hub/shop.yaml")).await?;
        Thing::definition(hub, "shop").until("Active", is_served).await
    };
    stage.step("hub: ResourceGraphDefinition shop is applied, and is Active", defined).await?;
    let owners = async {
        for place in scene.spokes() {
            place.apply(include_str!("../spoke/permissions.yaml")).await?;
        }
        for place in [paris, tokyo] {
            place.apply(BACKUPS).await?;
        }
        Ok(())
    };
    let what = "spokes: their owners say with which kinds the controller may do what; paris and tokyo have Backups";
    stage.step(what, owners).await?;
    for (place, labels) in [
        (paris, &[("tier", "canary")][..]),
        (lima, &[("tier", "prod")]),
        (tokyo, &[("tier", "prod"), ("certificates", "brokered")]),
    ] {
        let joined = async {
            join(hub, place, labels).await?;
            runs(place, SHOPS, "1").await
        };
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        let what = format!("hub: a Secret makes {} ({}) a spoke; it has kind Shop", place.name(), labels.join(", "));
        stage.step(&what, joined).await?;
    }
    let told = scene.until_distributed("shop", "True", "3/3 clusters at revision 1");
    let told = stage.step("the ResourceGraphDefinition says so", told).await?;
    stage.screen.detail(&format!("Distributed: {told}"));

    stage.screen.heading("Served everywhere");
    for place in scene.spokes() {
        let what = format!("{}: somebody makes Shop corner; it is ACTIVE, its children are there", place.name());
        let served = async {
            shop::open(place).await?;
            shop::shows(place, &shop::greeting(place)).await
        };
        let seen = stage.step(&what, served).await?;
        stage.screen.detail(&format!("status: {}", seen["status"]["window"]));
    }
    let apart = async {
        for place in scene.spokes() {
            let crds = Api::<CustomResourceDefinition>::all(place.client.clone());
            for name in ["resourcegraphdefinitions.kro.run", "graphrevisions.internal.kro.run"] {
                anyhow::ensure!(crds.get_opt(name).await?.is_none(), "expected no {name} in {}", place.name());
            }
        }
        let windows = stage.kubectl(hub, &["get", "configmap", shop::WINDOW, "--ignore-not-found"]).await?;
        anyhow::ensure!(windows.is_empty(), "expected nothing of a spoke in the hub, found {windows}");
        Ok(())
    };
    stage.step("no spoke knows of ResourceGraphDefinitions, and nothing of a spoke is in the hub", apart).await
}
