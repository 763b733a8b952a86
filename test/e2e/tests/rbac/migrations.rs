//! A move with a stage in the compute cluster, and one by hand.

use broker_api::keys;
use e2e::{
    DEADLINE, Kind, Object, Scene, Traveller,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION},
    scene::ACCEPT_NAMESPACE,
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{
    cast::Cast,
    objects::{RELATED, bring_up},
};

/// `Job` of Kubernetes: nobody runs it here.
const JOB: Kind = Kind { group: "batch", version: "v1", kind: "Job", plural: "jobs" };

/// Both moves.
pub(crate) async fn scenario(cast: &Cast) {
    let (homer, ariadne, theseus) = (&cast.homer, &cast.ariadne, &cast.theseus);
    let hub = &cast.world.hub;
    configure(cast).await;
    let scene = Scene::new(&cast.world, "rbac-moves", &[homer]).await;
    let accept = scene.accept(ariadne, json!({"priority": 10})).await;
    scene.certificate(homer, "web").await;
    let web = Traveller::certificate(&scene, homer, "web");
    let old = web.copy(ariadne).await;
    bring_up(ariadne, &old).await;
    for (kind, _) in RELATED {
        homer.until_there(&kind, scene.ns(), &format!("web-{}", kind.plural)).await;
    }
    scene.accept(theseus, Value::Null).await;
    ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
    let new = web.copy(theseus).await;
    bring_up(theseus, &new).await;

    let migration = stages(cast, &scene, &new).await;
    web.until_copy_gone(ariadne).await;
    hub.until_event(scene.ns(), &migration, "Completed", |_| true).await;
    // After --migration-ttl.
    hub.until_gone(&MIGRATION, scene.ns(), &migration).await;
    hub.delete(&MIGRATION_CONFIGURATION, cast.own, "certificates").await;

    scene.accept(ariadne, Value::Null).await;
    let side = |cluster: &str| json!({"gvk": CERTIFICATE.gvk(), "name": new.name(), "namespace": scene.ns(), "clusterName": cluster});
    let spec = json!({"from": side("theseus"), "to": side("ariadne")});
    hub.create(&MIGRATION, scene.ns(), "by-hand", json!({"spec": spec})).await;
    let copy = web.copy(ariadne).await;
    ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
    web.until_copy_gone(theseus).await;
    hub.until_gone(&MIGRATION, scene.ns(), "by-hand").await;
    web.delete().await;
    web.until_gone().await;
}

/// A configuration with a Job; that it is judged is written in its status.
async fn configure(cast: &Cast) {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "check", "image": "check"}]});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod}}});
    let stages = json!([{
        "name": "check",
        "progress": true,
        "templates": {"job": job},
        "successConditions": ["has(job.status.succeeded) && job.status.succeeded > 0"],
    }]);
    let spec = json!({"from": CERTIFICATE.gvk(), "to": CERTIFICATE.gvk(), "stages": stages});
    let hub = &cast.world.hub;
    hub.create(&MIGRATION_CONFIGURATION, cast.own, "certificates", json!({"spec": spec})).await;
    let ready = |seen: &Object| seen.condition("Ready").is_some_and(|told| told.status == "True");
    hub.until(&MIGRATION_CONFIGURATION, cast.own, "certificates", "to be ready", ready).await;
}

/// The stage of the Migration, with what somebody else does to its objects; returns its name.
async fn stages(cast: &Cast, scene: &Scene<'_>, new: &Object) -> String {
    let (hub, compute) = (&cast.world.hub, &cast.compute);
    let found = wait_for(DEADLINE, "the Migration's stage", async || {
        let all = hub.list(&MIGRATION, scene.ns()).await;
        let running = all.iter().find(|seen| seen.text("/status/state") == "InitialInProgress");
        running.cloned().ok_or_else(|| format!("{all:?}"))
    });
    let migration = found.await.unwrap();
    let id = migration.text("/status/id");
    let mut objects = vec![(JOB, format!("{id}-job"))];
    objects.extend(RELATED.map(|(kind, _)| (kind, format!("{id}-to-{}-{}", new.name(), kind.plural))));
    for (kind, name) in &objects {
        compute.until_there(kind, scene.ns(), name).await;
        // A watch by label does not see it any more: the broker looks, and labels it again.
        let unlabelled = json!({"metadata": {"labels": {keys::MIGRATION_ID: null}}});
        compute.edit(kind, scene.ns(), name, unlabelled).await;
        let labelled = |seen: &Object| seen.label(keys::MIGRATION_ID) == Some(id);
        compute.until(kind, scene.ns(), name, "to be labelled again", labelled).await;
    }
    let succeeded = json!({"startTime": "2026-01-01T00:00:00Z", "succeeded": 1});
    compute.set_status(&JOB, scene.ns(), &objects[0].1, succeeded).await;
    for (kind, name) in &objects {
        compute.until_gone(kind, scene.ns(), name).await;
    }
    migration.name().to_owned()
}
