//! Ten minutes: the copy's controller serves an object, and no broker is there.

use example_stage::{Place, Stage, controllers};
use harness::{Mark, Program};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt as _;

use crate::{
    delivery::secret_of,
    scene::{CONTROLLER, Scene},
};

/// Returns where the audit log of `theseus` was when its rights were in force.
pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<Mark> {
    let Scene { theseus, copied, .. } = scene;
    stage.screen.heading("A provider, and no broker yet");
    let applied = async {
        copied.apply(theseus, "config/crd.yaml").await?;
        copied.apply(theseus, "config/rbac.yaml").await
    };
    stage.step("theseus: kubectl apply -f my-provider/config/crd.yaml -f …/rbac.yaml", applied).await?;
    stage.control(theseus, &controllers::TOKENS)?;
    stage.step("its controller runs, with the rights of rbac.yaml (cargo run)", start(theseus, stage)).await?;

    let object = copied.path("bucket.yaml");
    let tried = async {
        stage.kubectl(theseus, &["apply", "-f", &object]).await?;
        stage.kubectl(theseus, &["wait", "--for=condition=Ready", "--timeout=60s", "bucket/photos"]).await?;
        theseus.api::<Secret>().get(&secret_of("photos")).await?;
        stage.kubectl(theseus, &["get", "bucket,secret"]).await
    };
    let seen = stage.step("theseus: kubectl apply -f my-provider/bucket.yaml, as the broker would", tried).await?;
    stage.screen.detail(&seen);
    let deleted = async {
        stage.kubectl(theseus, &["delete", "--timeout=60s", "-f", &object]).await?;
        theseus.gone::<Secret>(&secret_of("photos")).await?;
        nothing_made(theseus).await
    };
    stage.step("deleted, it leaves nothing behind", deleted).await?;
    theseus.cluster.audit().settle().await
}

async fn start(theseus: &Place, stage: &Stage) -> anyhow::Result<()> {
    let kubeconfig = stage.lab.directory().join(format!("{CONTROLLER}.kubeconfig"));
    theseus.write_kubeconfig_of(CONTROLLER, CONTROLLER, &kubeconfig).await?;
    let program = Program::new(CONTROLLER, harness::binary(CONTROLLER)?).env("KUBECONFIG", kubeconfig);
    stage.start(&program.env("NO_COLOR", "1"))
}

/// Waits until there is nothing that stands for a bucket.
pub(crate) async fn nothing_made(theseus: &Place) -> anyhow::Result<()> {
    let made = |held: &ConfigMap| held.namespace().as_deref() == Some(CONTROLLER);
    theseus.none::<ConfigMap>(&format!("in namespace {CONTROLLER}"), made).await
}
