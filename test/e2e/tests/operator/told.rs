//! What Deployment and pods say reaches the Broker's conditions.

use serde_json::{Value, json};

use crate::stage::{CLUSTERS, DEPLOYMENT, POD, SYSTEM, Stage, assert_no_writes};

/// As the controller of Deployments writes it.
async fn rollout(stage: &Stage, mut status: Value) {
    status["observedGeneration"] = stage.get(DEPLOYMENT, SYSTEM, "told").await["metadata"]["generation"].clone();
    stage.set_status(DEPLOYMENT, "told", status).await;
}

/// As the controller of ReplicaSets and a kubelet write it.
async fn pod(stage: &Stage, name: &str, status: Value) {
    if stage.get(POD, SYSTEM, name).await.is_null() {
        let deployment = stage.get(DEPLOYMENT, SYSTEM, "told").await;
        let mut labels = deployment["spec"]["template"]["metadata"]["labels"].clone();
        labels["pod-template-hash"] = name.into();
        let metadata = json!({"name": name, "labels": labels});
        stage
            .create(
                POD,
                SYSTEM,
                json!({"metadata": metadata, "spec": {"containers": [{"name": "told", "image": "i"}]}}),
            )
            .await;
    }
    stage.set_status(POD, name, status).await;
}

fn container(state: &Value, last: &Value) -> Value {
    json!({"containerStatuses": [{"name": "told", "ready": false, "restartCount": 1, "image": "i", "imageID": "",
        "state": state, "lastState": last}]})
}

pub(crate) async fn what_deployment_and_pods_say_reaches_the_conditions(stage: &Stage) {
    let kinds = json!(["Certificate.v1alpha1.example.platform-mesh.io"]);
    stage.broker("told", json!({"watchKinds": kinds, "clusterSecretsNamespace": CLUSTERS})).await;
    stage.until_there(DEPLOYMENT, SYSTEM, "told").await;

    let message = "0/1 nodes are available: 1 Insufficient memory.";
    let unscheduled = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": message}]});
    pod(stage, "one", unscheduled).await;
    let messages = stage.until_stands("told", &[("Available", "-Unschedulable"), ("Degraded", "Unschedulable")]).await;
    assert_eq!(messages["Degraded"], format!("Pod one: {message}"));

    let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "because"}});
    let scheduled = |mut status: Value| {
        status["conditions"] = json!([{"type": "PodScheduled", "status": "True"}]);
        status
    };
    for reason in ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"] {
        pod(stage, "one", scheduled(container(&waiting(reason), &json!({})))).await;
        stage.until_stands("told", &[("Degraded", reason), ("Progressing", "RollingOut")]).await;
    }

    let running = json!({"containerStatuses": [{"name": "told", "ready": true, "restartCount": 1, "image": "i", "imageID": "",
        "state": {"running": {}}, "lastState": {}}], "conditions": [{"type": "PodScheduled", "status": "True"}]});
    pod(stage, "one", running).await;
    let done = json!([{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""}]);
    rollout(
        stage,
        json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": done}),
    )
    .await;
    stage
        .until_stands(
            "told",
            &[("Available", "InstanceReady"), ("Progressing", "-Complete"), ("Degraded", "-AsExpected")],
        )
        .await;
    stage.until_passed("told").await;
    let mark = stage.mark().await;
    stage.until_passed("told").await;
    assert_no_writes(&stage.asked(mark).await);

    // A new version crashes while the old one serves.
    let kinds = json!(["VM.v1alpha1.example.platform-mesh.io"]);
    stage.broker("told", json!({"watchKinds": kinds, "clusterSecretsNamespace": CLUSTERS})).await;
    stage.until_stands("told", &[("Available", "InstanceReady"), ("Progressing", "RollingOut")]).await;
    let under_way = json!([{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": ""}]);
    let numbers = |conditions: Value| {
        json!({"replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 1,
            "conditions": conditions})
    };
    rollout(stage, numbers(under_way)).await;
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "error: no kind VM\n"}});
    pod(stage, "two", scheduled(container(&waiting("CrashLoopBackOff"), &ended))).await;
    let stands = [("Available", "InstanceReady"), ("Progressing", "RollingOut"), ("Degraded", "CrashLoopBackOff")];
    let messages = stage.until_stands("told", &stands).await;
    assert_eq!(messages["Degraded"], "Pod two: the broker ended with code 1: error: no kind VM");
    // It starts again and again: nothing new.
    stage.until_passed("told").await;
    let mark = stage.mark().await;
    pod(stage, "two", scheduled(container(&json!({"running": {}}), &ended))).await;
    stage.until_passed("told").await;
    assert_no_writes(&stage.asked(mark).await);

    let stuck = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}]);
    rollout(stage, numbers(stuck)).await;
    let stands = [
        ("Available", "InstanceReady"),
        ("Progressing", "-ProgressDeadlineExceeded"),
        ("Degraded", "CrashLoopBackOff"),
    ];
    stage.until_stands("told", &stands).await;
    let killed = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    pod(stage, "two", scheduled(container(&waiting("CrashLoopBackOff"), &killed))).await;
    stage.until_stands("told", &[("Degraded", "OOMKilled")]).await;
    stage.remove("told").await;
}
