//! What cannot be deployed, and what is somebody else's.

use harness::wait_for;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::stage::{
    ACCOUNT, BINDING, BROKER, CLUSTERS, DEADLINE, DEPLOYMENT, POLICY, SERVICE, SYSTEM, Stage, assert_no_writes,
};

const KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";

fn spec(extra: &[&str]) -> Value {
    json!({"watchKinds": [KIND], "clusterSecretsNamespace": CLUSTERS, "extraArgs": extra})
}

fn foreign(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"replicas": 4, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

pub(crate) async fn what_cannot_be_deployed_leaves_what_runs_as_it_is(stage: &Stage) {
    stage.broker("b", spec(&[])).await;
    stage.until_stands("b", &[("Progressing", "RollingOut"), ("Degraded", "-AsExpected")]).await;
    let generation = stage.get(DEPLOYMENT, SYSTEM, "b").await["metadata"]["generation"].clone();
    let numbers = json!({"observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1});
    stage.set_status(DEPLOYMENT, "b", numbers).await;
    let well = [("Available", "InstanceReady"), ("Progressing", "-Complete"), ("Degraded", "-AsExpected")];
    stage.until_stands("b", &well).await;
    let before = stage.get(DEPLOYMENT, SYSTEM, "b").await;

    for (extra, words) in [
        ("--watch-kind=certificates", "Kind.version.group"),
        ("--max-moves=many", "--max-moves"),
        ("-no-such-flag", "--no-such-flag"),
    ] {
        stage.broker("b", spec(&[extra])).await;
        let stands = [("Available", "InstanceReady"), ("Progressing", "-InvalidSpec"), ("Degraded", "InvalidSpec")];
        let messages = stage.until_stands("b", &stands).await;
        assert!(messages["Degraded"].contains(words), "{messages:?}");
    }
    assert_eq!(stage.get(DEPLOYMENT, SYSTEM, "b").await, before, "untouched");
    // The last cluster is taken away.
    stage.broker("b", spec(&[])).await;
    stage.until_stands("b", &well).await;
    stage.delete(crate::stage::SECRET, CLUSTERS, "homer").await;
    stage.broker("b", spec(&["--max-moves=1"])).await;
    stage.until_stands("b", &[("Available", "InstanceReady"), ("Degraded", "NoClusterSecrets")]).await;
    let deployment = stage.get(DEPLOYMENT, SYSTEM, "b").await;
    assert_eq!(deployment["spec"], before["spec"], "untouched");
    // Another image may have flags of its own; with files as clusters nobody waits for Secrets.
    let mut other = spec(&["-kcp-kubeconfig=/kcp", "-consumer-kubeconfig=/homer"]);
    other["image"] = json!({"repository": "registry.example.com/kcp-broker"});
    stage.broker("b", other).await;
    stage.until_stands("b", &[("Progressing", "RollingOut"), ("Degraded", "-AsExpected")]).await;
    // The API server refuses what nobody looked at before.
    let mut refused = spec(&["-consumer-kubeconfig=/homer"]);
    refused["volumeMounts"] = json!([{"name": "nowhere", "mountPath": "/v"}]);
    stage.broker("b", refused).await;
    let messages = stage.until_stands("b", &[("Degraded", "InvalidSpec")]).await;
    assert!(
        messages["Degraded"].contains("Deployment resource-broker-system/b")
            && messages["Degraded"].contains("nowhere")
    );
    stage.broker("b", json!({"watchKinds": [KIND]})).await;
    stage.until_stands("b", &[("Degraded", "NoClusters"), ("Progressing", "RollingOut")]).await;
}

pub(crate) async fn what_is_somebody_else_s_is_never_touched(stage: &Stage) {
    for name in ["taken", "other"] {
        stage.create(DEPLOYMENT, SYSTEM, foreign(name)).await;
    }
    stage.create(ACCOUNT, SYSTEM, json!({"metadata": {"name": "taken"}})).await;
    stage.create(POLICY, SYSTEM, json!({"metadata": {"name": "taken"}, "spec": {"podSelector": {}}})).await;
    let before = stage.get(DEPLOYMENT, SYSTEM, "taken").await;
    let account = stage.get(ACCOUNT, SYSTEM, "taken").await;
    stage.broker("taken", spec(&[])).await;
    let messages = stage.until_stands("taken", &[("Degraded", "NameConflict"), ("Available", "-NameConflict")]).await;
    for words in ["Deployment resource-broker-system/taken", "NetworkPolicy resource-broker-system/taken"] {
        assert!(messages["Degraded"].contains(words), "{messages:?}");
    }
    assert!(!messages["Degraded"].contains("ServiceAccount"), "an account may be there before: {messages:?}");
    for (kind, name) in [(SERVICE, "taken-metrics"), (BINDING, "taken")] {
        stage.until_there(kind, SYSTEM, name).await;
    }
    stage.until_passed("taken").await;
    assert_eq!(stage.get(DEPLOYMENT, SYSTEM, "taken").await, before);
    assert_eq!(stage.get(ACCOUNT, SYSTEM, "taken").await, account, "used, not adopted");
    let mark = stage.mark().await;
    stage.until_passed("taken").await;
    assert_no_writes(&stage.asked(mark).await);

    // A name in between is free again: the operator looks by itself.
    stage.delete(DEPLOYMENT, SYSTEM, "taken").await;
    stage.delete(POLICY, SYSTEM, "taken").await;
    let uid = stage.get(BROKER, SYSTEM, "taken").await["metadata"]["uid"].clone();
    let ours = |seen: &Value| seen["metadata"]["ownerReferences"][0]["uid"] == uid;
    stage.until(DEPLOYMENT, (SYSTEM, "taken"), "the Broker's", ours).await;
    stage.until_stands("taken", &[("Degraded", "-AsExpected")]).await;

    stage.delete(BROKER, SYSTEM, "taken").await;
    stage.until_gone(BROKER, SYSTEM, "taken").await;
    stage.until_gone(DEPLOYMENT, SYSTEM, "taken").await;
    assert_eq!(stage.get(ACCOUNT, SYSTEM, "taken").await, account);
    assert_eq!(stage.get(DEPLOYMENT, SYSTEM, "other").await["spec"]["replicas"], 4);
}

/// As with the CRD of another version, or one that was edited.
const LOOSE_CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: brokers.operator.broker.platform-mesh.io}
spec:
  group: operator.broker.platform-mesh.io
  names: {kind: Broker, listKind: BrokerList, plural: brokers, singular: broker}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_cannot_be_read_is_told_so_and_stops_no_other() {
    let mut stage = Stage::without_operator().await;
    stage.cluster_secret("homer").await;
    stage.cluster.apply("person", LOOSE_CRD).await.unwrap();
    let broker = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    // A changed CRD takes a moment, in which the kind may not be served at all.
    let first = stage.api(BROKER, SYSTEM);
    let odd: DynamicObject =
        serde_json::from_value(json!({"apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker",
            "metadata": {"name": "odd"}, "spec": {"replicas": "three"}}))
        .unwrap();
    let created = wait_for(DEADLINE, "the loose CRD", async || first.create(&PostParams::default(), &odd).await);
    created.await.unwrap();
    stage.create(BROKER, SYSTEM, broker("other", json!(7))).await;
    stage.start_operator();
    stage.create(BROKER, SYSTEM, broker("b", spec(&[]))).await;
    stage.until_there(DEPLOYMENT, SYSTEM, "b").await;
    for (name, words) in [("odd", "three"), ("other", "7")] {
        let messages = stage.until_stands(name, &[("Degraded", "InvalidSpec")]).await;
        assert!(messages["Degraded"].contains(words), "{messages:?}");
    }
}
