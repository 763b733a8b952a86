//! The operator ends at any time, in any way, and another one goes on.

use serde_json::{Value, json};

use crate::stage::{BINDING, BROKER, CLUSTER_BINDING, CLUSTERS, DEPLOYMENT, SERVICE, SYSTEM, Stage};

fn spec(replicas: i32) -> Value {
    json!({"watchKinds": ["Certificate.v1alpha1.example.platform-mesh.io"], "clusterSecretsNamespace": CLUSTERS,
        "replicas": replicas})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_operator_goes_on_where_one_ended() {
    let mut stage = Stage::start().await;
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
}
