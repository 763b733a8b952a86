//! Nothing is asked for when nothing changes, and nothing is written after a restart.

use std::time::Duration;

use e2e::{
    Kind,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use futures::future::join_all;
use harness::wait_for;
use serde_json::{Value, json};

use crate::{
    ALONE, BROKEN,
    kinds::{DEPLOYMENT, REVISION, RGD, SERVICE},
    rgd::{Node, Rgd},
    scene::Scene,
    stage::Stage,
    writes::words,
};

/// How many instances there are.
const INSTANCES: usize = 10;
/// How long nothing may be asked for.
const IDLE: Duration = Duration::from_secs(5);
/// The controller has done what it has to do when it has asked for nothing for so long.
const SETTLED: Duration = Duration::from_millis(1500);

/// Waits until the controller has asked for nothing for as long as `quiet`.
pub(crate) async fn until_quiet(stage: &Stage, quiet: Duration) {
    let what = format!("no request for {quiet:?}");
    let waited = wait_for(e2e::DEADLINE, &what, async || {
        let mark = stage.mark().await;
        // The span of time is what is asked about: nothing else could tell that nothing comes.
        tokio::time::sleep(quiet).await;
        let requests = stage.requests(mark).await;
        if requests.is_empty() {
            Ok(())
        } else {
            Err(format!("{:?}", requests.iter().map(|e| &e.uri).collect::<Vec<_>>()))
        }
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// Children of which API servers store another form than was applied: texts of a Secret, quantities, defaulted lists.
fn awkward() -> Rgd {
    let name = "${schema.metadata.name}";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"password": "${schema.metadata.name}"}, "data": {"raw": "YWJj"},
    });
    let container = json!({
        "name": "main",
        "image": "nginx",
        "ports": [{"containerPort": 80}, {"containerPort": 443, "name": "tls"}],
        "env": [{"name": "A", "value": "${schema.spec.text}"}, {"name": "EMPTY", "value": ""}],
        "resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": "1000m", "memory": 2_147_483_648_i64}},
        "readinessProbe": {"httpGet": {"path": "/", "port": "tls"}},
    });
    let labels = json!({"app": name});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "creationTimestamp": null}, "spec": {
                "containers": [container],
                "volumes": [{"name": "none", "emptyDir": {}}, {"name": "secret", "secret": {"secretName": name}}],
                "tolerations": [{"key": "a", "operator": "Exists"}],
            }},
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "annotations": {"empty": ""}},
        "spec": {"selector": labels, "ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]},
    });
    Rgd::new("Awkward")
        .spec(json!({"text": "string | default=\"a\""}))
        .status(json!({"clusterIP": "${service.spec.clusterIP}", "ready": "${deployment.status.readyReplicas}"}))
        .node(Node::new("secret", secret))
        .node(Node::new("deployment", deployment))
        .node(Node::new("service", service))
        .node(Node::config("config", name, json!({"secret": "${secret.metadata.uid}", "block": "a\nb\n"})))
}

/// Kind, name and resource version of all that is there.
async fn versions(scene: &Scene<'_>, kinds: &[Kind]) -> Vec<String> {
    let mut versions = Vec::new();
    for kind in [SECRET, DEPLOYMENT, SERVICE, CONFIG_MAP].iter().chain(kinds) {
        let objects = scene.place().list(kind, scene.ns()).await;
        versions.extend(objects.iter().map(|object| format!("{} {} {}", kind.kind, object.name(), object.version())));
    }
    for kind in [RGD, REVISION, CRD] {
        let objects = scene.place().list(&kind, "").await;
        versions.extend(objects.iter().map(|object| format!("{} {} {}", kind.kind, object.name(), object.version())));
    }
    versions
}

/// Some that are as they should be, with fields of others; one that waits; one whose child is another's.
async fn populate(scene: &Scene<'_>) -> Vec<Kind> {
    let awkward = scene.define(&awkward()).await;
    let waiting = Rgd::new("Waiting")
        .spec(json!({"name": "string"}))
        .node(Node::config("config", "${schema.spec.name}", json!({"a": "b"})))
        .node(Node::service("service", "${schema.spec.name}"))
        .node(Node::config(
            "after",
            "${schema.spec.name}-after",
            json!({"ip": "${service.status.loadBalancer.ingress[0].ip}"}),
        ));
    let waiting = scene.define(&waiting).await;
    join_all((0..INSTANCES).map(async |number| {
        scene.create(&awkward, &format!("a{number}"), json!({"text": format!("text {number}")})).await;
    }))
    .await;
    for number in 0..INSTANCES {
        scene.active(&awkward, &format!("a{number}")).await;
    }
    let theirs: Value = json!({"spec": {"replicas": 3}, "metadata": {"labels": {"team": "a"}}});
    scene.place().edit(&DEPLOYMENT, scene.ns(), "a1", theirs).await;
    let ready = json!({"replicas": 3, "readyReplicas": 2});
    scene.place().set_status(&DEPLOYMENT, scene.ns(), "a1", ready).await;
    scene.until(&awkward, "a1", "its replicas", |seen| seen.at("/status/ready") == 2).await;
    scene.create(&waiting, "waits", json!({"name": "waits"})).await;
    scene.waits(&waiting, "waits", "unresolved").await;
    scene.create(&waiting, "thief", json!({"name": "waits"})).await;
    scene.waits(&waiting, "thief", "belongs to a different ApplySet").await;
    vec![awkward, waiting]
}

#[test]
fn nothing_is_asked_when_idle_and_nothing_written_after_a_restart() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "idle").await;
        let kinds = populate(&scene).await;
        until_quiet(stage, SETTLED).await;
        let before = versions(&scene, &kinds).await;
        until_quiet(stage, IDLE).await;

        for way in ["SIGTERM", "SIGKILL"] {
            let mark = stage.mark().await;
            {
                let mut controller = stage.controller().await;
                match way {
                    "SIGTERM" => assert_eq!(controller.terminate().await, Some(0), "{}", controller.lines(&[])),
                    _ => controller.kill(),
                }
                controller.start_again(&stage.lab).await;
            }
            until_quiet(stage, SETTLED).await;
            let requests = stage.requests(mark).await;
            assert!(!requests.reads().is_empty(), "the controller read its cluster after {way}");
            assert_eq!(words(&requests), Vec::<String>::new(), "after {way}: {requests:?}");
            let single = requests.only(|event| event.namespace == scene.ns() && event.verb == "get");
            assert!(single.is_empty(), "no object is read by itself after {way}: {single:?}");
        }
        assert_eq!(versions(&scene, &kinds).await, before, "no object was touched");
    });
}
