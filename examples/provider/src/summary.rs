//! What the providers' programs were refused, which is nothing, and what to try.

use example_stage::Stage;
use harness::Mark;

use crate::{
    graph::GRAPHS_USER,
    scene::{CONTROLLER_USER, Scene},
};

/// `since`: where the audit logs of `theseus` and `nestor` were when rights were in force.
pub(crate) async fn show(scene: &Scene, stage: &Stage, since: [Mark; 2]) -> anyhow::Result<()> {
    let Scene { hub, homer, theseus, nestor, copied } = scene;
    let enough = async {
        for ((place, user), since) in [(theseus, CONTROLLER_USER), (nestor, GRAPHS_USER)].into_iter().zip(since) {
            let asked = place.cluster.audit().settled_since(since).await?.of(user);
            let denied = asked.only(|event| event.code == 403);
            anyhow::ensure!(!asked.is_empty(), "{user} has asked {} for nothing", place.name());
            anyhow::ensure!(denied.is_empty(), "denied in {}: {denied:?}", place.name());
        }
        Ok(())
    };
    stage.step("the rights in config/rbac.yaml and graph/rbac.yaml were enough", enough).await?;
    let acceptapis = stage.step("kubectl broker acceptapis", stage.kubectl_broker(&["acceptapis"])).await?;
    stage.screen.detail(&acceptapis);
    let object = copied.path("bucket.yaml");
    stage.suggest(&[
        (homer, &format!("apply -f {object}")),
        (homer, "get bucket,secret"),
        (theseus, "get bucket,secret,acceptapi"),
        (theseus, "get configmap -n bucket-provider"),
        (nestor, "get rgd"),
        (hub, "get secrets -n resource-broker-clusters"),
        (homer, "delete bucket photos"),
    ])
}
