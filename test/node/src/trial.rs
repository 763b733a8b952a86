//! A Deployment of two pods runs.

use example_stage::Screen;
use harness::wait_for;
use k8s_openapi::api::apps::v1::Deployment;

use crate::{DEADLINE, world::World};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: trial, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: trial}}
  template:
    metadata: {labels: {app: trial}}
    spec: {containers: [{name: pause, image: 'localhost/pause:1'}]}
";

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    let work = async {
        world.kubectl.apply("hub", DEPLOYMENT).await?;
        let deployments = world.hub.api::<Deployment>();
        wait_for(DEADLINE, "a Deployment of two", async || {
            let status = deployments.get("trial").await?.status.unwrap_or_default();
            anyhow::ensure!(status.ready_replicas == Some(2), "{status:?}");
            Ok(())
        })
        .await
    };
    screen.step("hub: a Deployment of two pods is ready", work).await
}
