//! The graphs controller of a Broker: it comes, changes and goes beside the broker.

use serde_json::{Value, json};

use crate::stage::{
    ACCOUNT, BINDING, BROKER, BUDGET, CLUSTER_BINDING, CLUSTERS, DEPLOYMENT, GRAPHS_IMAGE, Kind, POD, POLICY, SECRET,
    SERVICE, SYSTEM, Stage, assert_no_writes,
};

const CRD: &str = include_str!("../../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml");
const RGD: Kind = Kind("kro.run/v1alpha1", "ResourceGraphDefinition", "resourcegraphdefinitions");

/// What a Broker has with `graphs` alone.
const OWN: [(Kind, &str); 4] =
    [(ACCOUNT, "b-graphs"), (POLICY, "b-graphs"), (DEPLOYMENT, "b-graphs"), (SERVICE, "b-graphs-metrics")];

fn spec(graphs: &Value) -> Value {
    json!({"watchKinds": ["Certificate.v1alpha1.example.platform-mesh.io"], "clusterSecretsNamespace": CLUSTERS,
        "graphs": graphs})
}

fn binding(what: &str) -> String {
    format!("resource-broker:{SYSTEM}:b:{what}")
}

fn args(deployment: &Value) -> String {
    deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
}

/// One after the other: each step finds the Broker as the one before left it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graphs_controller_comes_changes_and_goes() {
    let mut stage = Stage::start().await;
    stage.cluster.apply("person", CRD).await.unwrap();
    let rgd = json!({"metadata": {"name": "web"}, "spec": {"schema": {"apiVersion": "v1", "kind": "Web"}}});
    stage.broker("b", spec(&json!({"replicas": 2}))).await;
    stage.until_there(SERVICE, SYSTEM, "b-metrics").await;
    stage.until_stands("b", &[("Available", "-NoInstanceReady"), ("Degraded", "-AsExpected")]).await;
    assert!(stage.get(DEPLOYMENT, SYSTEM, "b-graphs").await.is_null(), "nobody has enabled it");
    let broker = stage.get(DEPLOYMENT, SYSTEM, "b").await;

    it_comes(&stage).await;
    stage.create(RGD, "", rgd).await;
    assert_eq!(
        stage.get(DEPLOYMENT, SYSTEM, "b").await["spec"],
        broker["spec"],
        "the broker has nothing to do with it"
    );
    nothing_is_written_where_nothing_changes(&mut stage).await;
    it_changes(&stage).await;
    it_goes_when_its_last_pod_is_gone(&stage).await;
    assert!(!stage.get(RGD, "", "web").await.is_null(), "what people wrote stays");
    assert_eq!(stage.get(DEPLOYMENT, SYSTEM, "b").await["metadata"]["uid"], broker["metadata"]["uid"]);
    it_goes_with_its_broker(&stage).await;
    stage.delete(SECRET, CLUSTERS, "homer").await;
    it_needs_no_broker_to_run(&stage).await;
}

async fn it_comes(stage: &Stage) {
    stage.broker("b", spec(&json!({"enabled": true}))).await;
    let broker = stage.get(BROKER, SYSTEM, "b").await;
    for (kind, name) in OWN {
        let object = stage.until_there(kind, SYSTEM, name).await;
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], broker["metadata"]["uid"], "{object}");
    }
    let subjects = json!([{"kind": "ServiceAccount", "name": "b-graphs", "namespace": SYSTEM}]);
    for (kind, namespace, what, role) in [
        (BINDING, SYSTEM, "graphs-lease", "resource-broker-graphs-lease"),
        (CLUSTER_BINDING, "", "graphs", "resource-broker-graphs"),
        (CLUSTER_BINDING, "", "graphs-kinds", "resource-broker-graphs-kinds"),
    ] {
        let binding = stage.until_there(kind, namespace, &binding(what)).await;
        assert_eq!((&binding["roleRef"]["name"], &binding["subjects"]), (&json!(role), &subjects), "{binding}");
    }
    assert!(stage.get(CLUSTER_BINDING, "", &binding("graphs-crd-deletion")).await.is_null());
    let deployment = stage.get(DEPLOYMENT, SYSTEM, "b-graphs").await;
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], GRAPHS_IMAGE);
    let args = args(&deployment);
    for arg in ["--leader-elect", "--leader-election-namespace=resource-broker-system", "--allow-crd-deletion=false"] {
        assert!(args.contains(&format!("\"{arg}\"")), "{arg}: {args}");
    }
    stage.until_stands("b", &[("GraphsAvailable", "-NoInstanceReady"), ("Progressing", "RollingOut")]).await;
    for name in ["b", "b-graphs"] {
        stage.roll_out(name).await;
    }
    let stands = [("Available", "InstanceReady"), ("GraphsAvailable", "InstanceReady"), ("Progressing", "-Complete")];
    stage.until_stands("b", &stands).await;
}

async fn nothing_is_written_where_nothing_changes(stage: &mut Stage) {
    stage.until_passed("b").await;
    stage.stop_operator().await;
    let mark = stage.mark().await;
    stage.start_operator();
    stage.until_passed("b").await;
    assert_no_writes(&stage.asked(mark).await);
}

async fn it_changes(stage: &Stage) {
    stage.edit(DEPLOYMENT, SYSTEM, "b-graphs", json!({"spec": {"replicas": 5}})).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b-graphs"), "1 replica", |seen| seen["spec"]["replicas"] == 1).await;
    stage.broker("b", spec(&json!({"enabled": true, "replicas": 2, "allowCRDDeletion": true}))).await;
    let changed = |seen: &Value| seen["spec"]["replicas"] == 2 && args(seen).contains("--allow-crd-deletion=true");
    stage.until(DEPLOYMENT, (SYSTEM, "b-graphs"), "two that may delete CRDs", changed).await;
    stage.until_there(BUDGET, SYSTEM, "b-graphs").await;
    stage.until_there(CLUSTER_BINDING, "", &binding("graphs-crd-deletion")).await;
    stage.broker("b", spec(&json!({"enabled": true}))).await;
    stage.until_gone(BUDGET, SYSTEM, "b-graphs").await;
    assert!(
        !stage.get(CLUSTER_BINDING, "", &binding("graphs-crd-deletion")).await.is_null(),
        "those that may delete are not replaced yet"
    );
    stage.roll_out("b-graphs").await;
    stage.until_gone(CLUSTER_BINDING, "", &binding("graphs-crd-deletion")).await;
    let mut refused = spec(&json!({"enabled": true, "extraArgs": ["--leader-elect=false"]}));
    stage.broker("b", refused.clone()).await;
    let messages = stage.until_stands("b", &[("Degraded", "InvalidSpec"), ("GraphsAvailable", "InstanceReady")]).await;
    assert!(messages["Degraded"].contains("spec.graphs.extraArgs sets --leader-elect"), "{messages:?}");
    refused["graphs"]["extraArgs"] = json!([]);
    stage.broker("b", refused).await;
    stage.until_stands("b", &[("Degraded", "-AsExpected")]).await;
}

async fn it_goes_when_its_last_pod_is_gone(stage: &Stage) {
    // As the controllers of Deployments and ReplicaSets make it, and a kubelet ends it.
    let labels = stage.get(DEPLOYMENT, SYSTEM, "b-graphs").await["spec"]["template"]["metadata"]["labels"].clone();
    let metadata = json!({"name": "last", "labels": labels, "finalizers": ["e2e.example/held"]});
    let container = json!({"name": "resource-graphs", "image": "i"});
    stage.create(POD, SYSTEM, json!({"metadata": metadata, "spec": {"containers": [container]}})).await;
    stage.broker("b", spec(&json!({"enabled": false}))).await;
    for (kind, name) in OWN.into_iter().filter(|(kind, _)| kind.1 != ACCOUNT.1) {
        stage.until_gone(kind, SYSTEM, name).await;
    }
    stage.until_passed("b").await;
    assert!(!stage.get(ACCOUNT, SYSTEM, "b-graphs").await.is_null(), "a pod still runs as it");
    assert!(!stage.get(BINDING, SYSTEM, &binding("graphs-lease")).await.is_null(), "it still releases its lease");
    stage.edit(POD, SYSTEM, "last", json!({"metadata": {"finalizers": []}})).await;
    stage.delete(POD, SYSTEM, "last").await;
    stage.until_gone(ACCOUNT, SYSTEM, "b-graphs").await;
    stage.until_gone(BINDING, SYSTEM, &binding("graphs-lease")).await;
    for what in ["graphs", "graphs-kinds"] {
        stage.until_gone(CLUSTER_BINDING, "", &binding(what)).await;
    }
    let messages = stage.until_stands("b", &[("Degraded", "-AsExpected"), ("Available", "InstanceReady")]).await;
    assert!(!messages.contains_key("GraphsAvailable"), "{messages:?}");
    for (kind, name) in [(ACCOUNT, "b"), (POLICY, "b"), (DEPLOYMENT, "b"), (SERVICE, "b-metrics"), (BINDING, "b")] {
        assert!(!stage.get(kind, SYSTEM, name).await.is_null(), "{kind:?} {name} is the broker's");
    }
}

async fn it_goes_with_its_broker(stage: &Stage) {
    stage.broker("b", spec(&json!({"enabled": true}))).await;
    stage.until_there(SERVICE, SYSTEM, "b-graphs-metrics").await;
    let uid = stage.get(BROKER, SYSTEM, "b").await["metadata"]["uid"].as_str().unwrap().to_owned();
    stage.delete(BROKER, SYSTEM, "b").await;
    stage.until_gone(BROKER, SYSTEM, "b").await;
    assert_eq!(stage.labelled(CLUSTER_BINDING, &uid).await, [""; 0]);
    for (kind, name) in OWN {
        stage.until_gone(kind, SYSTEM, name).await;
    }
    stage.until_gone(BINDING, SYSTEM, &binding("graphs-lease")).await;
}

/// Who has nothing to broker.
async fn it_needs_no_broker_to_run(stage: &Stage) {
    stage.broker("lone", json!({"replicas": 0, "graphs": {"enabled": true}})).await;
    stage.until_there(DEPLOYMENT, SYSTEM, "lone-graphs").await;
    stage.roll_out("lone-graphs").await;
    let stands = [("Available", "-Stopped"), ("GraphsAvailable", "InstanceReady"), ("Degraded", "-AsExpected")];
    stage.until_stands("lone", &stands).await;
}
