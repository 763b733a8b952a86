//! A platform team defines a kind.

use example_stage::{
    DEADLINE, Stage,
    thing::{GROUP, Thing, is_served},
};
use harness::wait_for;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;

use crate::scene::Scene;

/// The ResourceGraphDefinition that most of the demo is about.
pub(crate) const WEB_APPLICATION: &str = include_str!("../consumer/webapplication.yaml");

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("A kind of one's own");
    let defined = async {
        homer.apply(WEB_APPLICATION).await?;
        Thing::definition(homer, "webapplication").until("Active", is_served).await
    };
    let rgd = stage.step("ResourceGraphDefinition webapplication is applied, and is Active", defined).await?;
    let order = &rgd["status"]["topologicalOrder"];
    let expected = ["settings", "pages", "deployment", "service", "ingress"];
    anyhow::ensure!(*order == serde_json::json!(expected), "topologicalOrder is {order}");
    stage.screen.detail(&stage.kubectl(homer, &["get", "rgd", "-o", "wide"]).await?);
    stage.step("homer has a new kind: WebApplication, with defaults and validation", kind(scene)).await?;
    let explained = wait_for(DEADLINE, "kubectl explain to know it", async || {
        let explained = stage.kubectl(homer, &["explain", "webapplication.spec.greeting"]).await?;
        anyhow::ensure!(explained.contains("greeting <string>"), "it says {explained}");
        Ok(())
    });
    stage.step("kubectl explain describes it", explained).await
}

async fn kind(scene: &Scene) -> anyhow::Result<()> {
    let crds = Api::<CustomResourceDefinition>::all(scene.homer.client.clone());
    let crd = crds.get(&format!("webapplications.{GROUP}")).await?;
    let schema = crd.spec.versions.first().and_then(|version| version.schema.as_ref());
    let spec = serde_json::to_value(schema)?["openAPIV3Schema"]["properties"]["spec"].take();
    anyhow::ensure!(spec["required"] == serde_json::json!(["greeting"]), "required: {}", spec["required"]);
    let replicas = &spec["properties"]["replicas"];
    anyhow::ensure!(replicas["default"] == 2 && replicas["maximum"] == 10.0, "replicas: {replicas}");
    Ok(())
}
