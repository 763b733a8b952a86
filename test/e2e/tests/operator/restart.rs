//! The operator ends at any time, in any way, and another one goes on.

use serde_json::{Value, json};

use crate::stage::{BINDING, BROKER, CLUSTER_BINDING, CLUSTERS, DEPLOYMENT, SERVICE, SYSTEM, Stage};

fn spec(replicas: i32) -> Value {
    json!({"watchKinds": ["Certificate.v1alpha1.example.platform-mesh.io"], "clusterSecretsNamespace": CLUSTERS,
        "replicas": replicas})
}

/// One after the other: each begins without a Broker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_ends_and_whatever_goes_away_is_gone_on_from() {
    let mut stage = Stage::without_operator().await;
    a_deployment_of_the_go_operator_is_taken_over_in_place(&mut stage).await;
    stage.cluster_secret("homer").await;
    another_operator_goes_on_where_one_ended(&mut stage).await;
    an_api_server_that_was_away_is_caught_up_with(&stage).await;
    of_two_operators_one_works_and_the_other_is_ready_to(&mut stage).await;
}

/// A Broker and its Deployment as the Go operator left them.
async fn a_deployment_of_the_go_operator_is_taken_over_in_place(stage: &mut Stage) {
    for (name, election) in [("old", true), ("alone", false)] {
        let args = [
            "-consumer-kubeconfig=/kubeconfigs/consumer/kubeconfig",
            "-zap-devel=true",
            "-watch-kind=Certificate.v1alpha1.example.platform-mesh.io",
        ];
        let mut spec = json!({"image": {"repository": "localhost/resource-broker", "tag": "dev"}, "extraArgs": args});
        if !election {
            spec["leaderElection"] = false.into();
        }
        let broker = stage.broker(name, spec).await;
        let container = json!({"name": name, "image": "localhost/resource-broker:dev", "args": args});
        let owner = json!({"apiVersion": broker["apiVersion"], "kind": "Broker", "name": name,
            "uid": broker["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true});
        let body = json!({"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"serviceAccountName": "resource-broker", "containers": [container]}}}});
        stage.create(DEPLOYMENT, SYSTEM, body).await;
    }
    let before = stage.get(DEPLOYMENT, SYSTEM, "old").await;
    stage.start_operator();
    let stage = &*stage;
    let strategy = async |name: &str, kind: &str| {
        stage
            .until(DEPLOYMENT, (SYSTEM, name), kind, |seen| {
                let pod = &seen["spec"]["template"]["spec"];
                seen["spec"]["strategy"]["type"] == kind && pod["serviceAccountName"] == name
            })
            .await
    };
    // The Go broker does not look at our lease: it has to be gone before another comes.
    strategy("old", "Recreate").await;
    stage.roll_out("old").await;
    let after = strategy("old", "RollingUpdate").await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "the same one");
    let containers = after["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1, "{containers:?}");
    assert!(containers[0]["args"].to_string().contains("--lease-name=old"), "{containers:?}");
    strategy("alone", "Recreate").await;
    stage.until_stands("old", &[("Degraded", "-AsExpected")]).await;
    stage.until_stands("alone", &[("Degraded", "-AsExpected"), ("Progressing", "RollingOut")]).await;
    for name in ["old", "alone"] {
        stage.remove(name).await;
    }
}

async fn another_operator_goes_on_where_one_ended(stage: &mut Stage) {
    // In the middle of making it: as soon as there is the first object.
    stage.broker("b", spec(1)).await;
    stage.until_there(BINDING, SYSTEM, "b").await;
    stage.kill_operator();
    stage.start_operator();
    for (kind, namespace, name) in [
        (DEPLOYMENT, SYSTEM, "b".to_owned()),
        (SERVICE, SYSTEM, "b-metrics".to_owned()),
        (CLUSTER_BINDING, "", format!("resource-broker:{SYSTEM}:b:coordination")),
    ] {
        stage.until_there(kind, namespace, &name).await;
    }
    // While there is none.
    stage.stop_operator().await;
    stage.broker("b", spec(3)).await;
    stage.broker("c", spec(1)).await;
    stage.delete(SERVICE, SYSTEM, "b-metrics").await;
    stage.start_operator();
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "3 replicas", |seen| seen["spec"]["replicas"] == 3).await;
    stage.until_there(SERVICE, SYSTEM, "b-metrics").await;
    stage.until_there(DEPLOYMENT, SYSTEM, "c").await;
    stage.until_stands("b", &[("Degraded", "-AsExpected")]).await;
    // A deletion waits for one.
    stage.stop_operator().await;
    let uid = stage.get(BROKER, SYSTEM, "b").await["metadata"]["uid"].as_str().unwrap().to_owned();
    stage.delete(BROKER, SYSTEM, "b").await;
    assert!(!stage.get(BROKER, SYSTEM, "b").await.is_null(), "the finalizer keeps it");
    // Somebody was faster.
    stage.delete(CLUSTER_BINDING, "", &format!("resource-broker:{SYSTEM}:b:coordination")).await;
    stage.start_operator();
    stage.until_gone(BROKER, SYSTEM, "b").await;
    assert_eq!(stage.labelled(CLUSTER_BINDING, &uid).await, [""; 0]);
    assert!(!stage.get(DEPLOYMENT, SYSTEM, "c").await.is_null(), "the other one stays");
    stage.remove("c").await;
}

async fn an_api_server_that_was_away_is_caught_up_with(stage: &Stage) {
    stage.broker("away", spec(1)).await;
    stage.until_there(SERVICE, SYSTEM, "away-metrics").await;
    stage.until_passed("away").await;
    stage.cluster.stop();
    stage.cluster.start_again().await.unwrap();
    let mark = stage.mark().await;
    // Perhaps before the watches are back: no list tells of it.
    stage.delete(SERVICE, SYSTEM, "away-metrics").await;
    stage.until_there(SERVICE, SYSTEM, "away-metrics").await;
    stage.broker("away", spec(2)).await;
    stage.until(DEPLOYMENT, (SYSTEM, "away"), "2 replicas", |seen| seen["spec"]["replicas"] == 2).await;
    stage.until_stands("away", &[("Degraded", "-AsExpected")]).await;
    stage.until_passed("away").await;
    let writes =
        stage.asked(mark).await.writes().only(|event| {
            event.resource != "events" && event.subresource.is_empty() && !event.uri.contains("dryRun=All")
        });
    let written: Vec<&str> = writes.iter().map(|event| event.resource.as_str()).collect();
    assert_eq!(written, ["services", "deployments", "poddisruptionbudgets"], "nothing else was written anew");
}

async fn of_two_operators_one_works_and_the_other_is_ready_to(stage: &mut Stage) {
    stage.operator().until_leads(true).await;
    let second = stage.another_operator("operator-2");
    for operator in [stage.operator(), &second] {
        operator.until_ready().await;
    }
    second.until_leads(false).await;
    stage.broker("pair", spec(1)).await;
    stage.until_there(SERVICE, SYSTEM, "pair-metrics").await;
    stage.stop_operator().await;
    second.until_leads(true).await;
    second.until_ready().await;
    stage.broker("pair", spec(2)).await;
    stage.until(DEPLOYMENT, (SYSTEM, "pair"), "2 replicas", |seen| seen["spec"]["replicas"] == 2).await;
}
