//! A Broker from its creation to its deletion.

use serde_json::{Value, json};

use crate::stage::{
    ACCOUNT, BINDING, BROKER, BUDGET, CLUSTER_BINDING, CLUSTERS, DEPLOYMENT, EVENT, IMAGE, POD, POLICY, SERVICE,
    SYSTEM, Stage, assert_no_writes,
};

const KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";
const SECRETS_BINDING: &str = "resource-broker:resource-broker-system:b:cluster-secrets";

fn spec(more: &Value) -> Value {
    let mut spec = json!({"watchKinds": [KIND], "clusterSecretsNamespace": CLUSTERS});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

/// One after the other: each step finds the Broker as the one before left it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_from_its_creation_to_its_deletion() {
    let mut stage = Stage::without_operator().await;
    let begin = stage.mark().await;
    stage.start_operator();
    it_waits_for_cluster_secrets(&stage).await;
    it_becomes_all_that_belongs_to_it(&stage).await;
    nothing_is_written_where_nothing_changes(&mut stage).await;
    what_others_change_is_put_back(&stage).await;
    replicas_come_and_go(&stage).await;
    metrics_go_and_come_back(&stage).await;
    what_people_change_is_changed(&mut stage).await;
    a_pause_keeps_everything(&stage).await;
    let denied = stage.asked(begin).await.only(|event| event.code == 403);
    assert!(denied.is_empty(), "{denied:#?}");
    another_namespace_of_secrets(&stage).await;
    nothing_is_left_of_it(&stage).await;
}

async fn it_waits_for_cluster_secrets(stage: &Stage) {
    stage.broker("b", spec(&json!({}))).await;
    let messages =
        stage.until_stands("b", &[("Degraded", "NoClusterSecrets"), ("Available", "-NoClusterSecrets")]).await;
    assert!(messages["Degraded"].contains(CLUSTERS), "{messages:?}");
    assert!(stage.get(DEPLOYMENT, SYSTEM, "b").await.is_null());
    stage.cluster_secret("homer").await;
    stage.until_there(DEPLOYMENT, SYSTEM, "b").await;
    stage
        .until_stands(
            "b",
            &[("Degraded", "-AsExpected"), ("Progressing", "RollingOut"), ("Available", "-NoInstanceReady")],
        )
        .await;
}

async fn it_becomes_all_that_belongs_to_it(stage: &Stage) {
    let broker = stage.get(BROKER, SYSTEM, "b").await;
    let uid = &broker["metadata"]["uid"];
    for (kind, name) in [(ACCOUNT, "b"), (DEPLOYMENT, "b"), (SERVICE, "b-metrics"), (POLICY, "b"), (BINDING, "b")] {
        let object = stage.until_there(kind, SYSTEM, name).await;
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["uid"], &owner["controller"]), (uid, &json!(true)), "{object}");
        assert!(owner["blockOwnerDeletion"].is_null());
    }
    let name = |what: &str| format!("resource-broker:{SYSTEM}:b:{what}");
    let subjects = json!([{"kind": "ServiceAccount", "name": "b", "namespace": SYSTEM}]);
    for (kind, namespace, name, role) in [
        (BINDING, SYSTEM, "b".to_owned(), "resource-broker-instance"),
        (BINDING, CLUSTERS, name("cluster-secrets"), "resource-broker-cluster-secrets"),
        (CLUSTER_BINDING, "", name("coordination"), "resource-broker-coordination"),
        (CLUSTER_BINDING, "", name("compute"), "resource-broker-compute"),
        (CLUSTER_BINDING, "", name("compute-stages"), "resource-broker-compute-stages"),
    ] {
        let binding = stage.until_there(kind, namespace, &name).await;
        assert_eq!((&binding["roleRef"]["name"], &binding["subjects"]), (&json!(role), &subjects), "{binding}");
        assert_eq!(&binding["metadata"]["labels"]["operator.broker.platform-mesh.io/broker-uid"], uid);
    }
    let deployment = stage.get(DEPLOYMENT, SYSTEM, "b").await;
    assert_eq!(container(&deployment)["image"], IMAGE);
    let args = container(&deployment)["args"].to_string();
    assert!(args.contains(&format!("--watch-kind={KIND}")) && args.contains("--leader-elect"), "{args}");
    let managers = deployment["metadata"]["managedFields"].as_array().unwrap().clone();
    assert!(managers.iter().any(|it| it["manager"] == "resource-broker-operator" && it["operation"] == "Apply"));
}

async fn nothing_is_written_where_nothing_changes(stage: &mut Stage) {
    stage.until_passed("b").await;
    let mark = stage.mark().await;
    stage.until_passed("b").await;
    assert_no_writes(&stage.asked(mark).await);
    stage.stop_operator().await;
    let mark = stage.mark().await;
    stage.start_operator();
    stage.until_passed("b").await;
    let asked = stage.asked(mark).await;
    assert!(!asked.is_empty());
    assert_no_writes(&asked);
}

async fn what_others_change_is_put_back(stage: &Stage) {
    stage.edit(DEPLOYMENT, SYSTEM, "b", json!({"spec": {"replicas": 5}})).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "1 replica", |seen| seen["spec"]["replicas"] == 1).await;
    let mallory = json!({"kind": "ServiceAccount", "name": "mallory", "namespace": "default"});
    let subjects = |binding: &Value| binding["subjects"].as_array().unwrap().clone();
    let binding = stage.get(BINDING, CLUSTERS, SECRETS_BINDING).await;
    let mut more = subjects(&binding);
    more.push(mallory);
    stage.edit(BINDING, CLUSTERS, SECRETS_BINDING, json!({"subjects": more})).await;
    stage.until(BINDING, (CLUSTERS, SECRETS_BINDING), "one subject", |seen| subjects(seen).len() == 1).await;
    for (kind, namespace, name) in [
        (SERVICE, SYSTEM, "b-metrics".to_owned()),
        (ACCOUNT, SYSTEM, "b".to_owned()),
        (CLUSTER_BINDING, "", format!("resource-broker:{SYSTEM}:b:coordination")),
        (DEPLOYMENT, SYSTEM, "b".to_owned()),
    ] {
        let before = stage.get(kind, namespace, &name).await["metadata"]["uid"].clone();
        stage.delete(kind, namespace, &name).await;
        let again = |seen: &Value| !seen.is_null() && seen["metadata"]["uid"] != before;
        stage.until(kind, (namespace, &name), "to be there again", again).await;
    }
    // What others add and the operator says nothing of is theirs.
    let restart =
        json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}});
    stage.edit(DEPLOYMENT, SYSTEM, "b", restart).await;
    let mark = stage.mark().await;
    stage.until_passed("b").await;
    assert_no_writes(&stage.asked(mark).await.on("deployments"));
    let deployment = stage.get(DEPLOYMENT, SYSTEM, "b").await;
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(annotations["kubectl.kubernetes.io/restartedAt"], "now");
}

async fn replicas_come_and_go(stage: &Stage) {
    stage.broker("b", spec(&json!({"replicas": 3}))).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "3 replicas", |seen| seen["spec"]["replicas"] == 3).await;
    let budget = stage.until_there(BUDGET, SYSTEM, "b").await;
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    stage.broker("b", spec(&json!({"replicas": 1}))).await;
    stage.until_gone(BUDGET, SYSTEM, "b").await;
    let one = |seen: &Value| {
        seen["spec"]["replicas"] == 1 && seen["spec"]["template"]["spec"]["topologySpreadConstraints"].is_null()
    };
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "1 replica", one).await;
    stage.broker("b", spec(&json!({"replicas": 0}))).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "no replicas", |seen| seen["spec"]["replicas"] == 0).await;
    stage.until_stands("b", &[("Available", "-Stopped"), ("Degraded", "-AsExpected")]).await;
    stage.broker("b", spec(&json!({}))).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "1 replica", |seen| seen["spec"]["replicas"] == 1).await;
}

async fn metrics_go_and_come_back(stage: &Stage) {
    stage.broker("b", spec(&json!({"metrics": {"enabled": false}}))).await;
    stage.until_gone(SERVICE, SYSTEM, "b-metrics").await;
    let closed = |seen: &Value| seen["spec"]["ingress"].as_array().is_none_or(Vec::is_empty);
    stage.until(POLICY, (SYSTEM, "b"), "nothing comes in", closed).await;
    let off = |seen: &Value| container(seen)["args"].to_string().contains("--metrics-bind-address=0");
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "metrics off", off).await;
    stage.broker("b", spec(&json!({"metrics": {"port": 9090}}))).await;
    let service = stage.until_there(SERVICE, SYSTEM, "b-metrics").await;
    assert_eq!(service["spec"]["ports"][0]["port"], 9090);
    let port = |seen: &Value| container(seen)["ports"][0]["containerPort"] == 9090;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "its port", port).await;
}

async fn what_people_change_is_changed(stage: &mut Stage) {
    let more = json!({
        "image": {"tag": "2", "pullPolicy": "Never"},
        "serviceAccountName": "own",
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "0.1"}},
        "labels": {"team": "x"},
        "annotations": {"note": "y"},
        "env": [{"name": "RUST_LOG", "value": "debug"}, {"name": "EMPTY", "value": ""}],
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["homer"]}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1024Ki"}}, {"name": "w", "secret": {"secretName": "s"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "extraArgs": ["--ready-timeout=30m"],
    });
    stage.instance("b", "old", "b").await;
    // Anybody may write a pod with these labels: that makes its account none of the broker's.
    stage.create(ACCOUNT, SYSTEM, json!({"metadata": {"name": "mallory"}})).await;
    stage.stranger("b", "stranger", "mallory").await;
    stage.broker("b", spec(&more)).await;
    let changed = |seen: &Value| {
        container(seen)["image"] == "localhost/resource-broker:2"
            && seen["spec"]["template"]["spec"]["serviceAccountName"] == "own"
            && seen["spec"]["template"]["spec"]["volumes"].as_array().is_some_and(|volumes| volumes.len() == 2)
    };
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "as the Broker says", changed).await;
    // The old instance works until it is replaced.
    let names = |seen: &Value| -> Vec<String> {
        let subjects = seen["subjects"].as_array().unwrap().iter();
        subjects.map(|subject| subject["name"].as_str().unwrap().to_owned()).collect()
    };
    stage.until(BINDING, (SYSTEM, "b"), "both subjects", |seen| names(seen) == ["own", "b"]).await;
    stage.until_passed("b").await;
    assert!(!stage.get(ACCOUNT, SYSTEM, "b").await.is_null(), "it is still needed");
    stage.delete(POD, SYSTEM, "old").await;
    stage.delete(POD, SYSTEM, "stranger").await;
    stage.roll_out("b").await;
    stage.until(BINDING, (SYSTEM, "b"), "its subject", |seen| names(seen) == ["own"]).await;
    stage.until_gone(ACCOUNT, SYSTEM, "b").await;
    let mut alone = spec(&more);
    alone["leaderElection"] = false.into();
    stage.broker("b", alone).await;
    let recreated = |seen: &Value| seen["spec"]["strategy"]["type"] == "Recreate";
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "no two at once", recreated).await;
    // The API server keeps some of this in other forms, of which an operator that begins remembers nothing.
    stage.until_passed("b").await;
    stage.stop_operator().await;
    let mark = stage.mark().await;
    stage.start_operator();
    stage.until_passed("b").await;
    assert_no_writes(&stage.asked(mark).await);
    stage.broker("b", spec(&json!({}))).await;
    let back = |seen: &Value| {
        container(seen)["env"].is_null()
            && seen["spec"]["template"]["spec"]["volumes"].is_null()
            && seen["spec"]["template"]["metadata"]["labels"]["team"].is_null()
    };
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "what is no longer said to be gone", back).await;
    let seen = stage.get(DEPLOYMENT, SYSTEM, "b").await;
    assert_eq!(seen["spec"]["strategy"]["type"], "Recreate", "the old instance looks at no lease");
    stage.roll_out("b").await;
    let rolling = |seen: &Value| seen["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "a hand-over from now on", rolling).await;
    stage.until_there(ACCOUNT, SYSTEM, "b").await;
}

async fn a_pause_keeps_everything(stage: &Stage) {
    let pause = |value: Value| json!({"metadata": {"annotations": {"broker.platform-mesh.io/paused": value}}});
    stage.edit(BROKER, SYSTEM, "b", pause("true".into())).await;
    stage.until_stands("b", &[("Progressing", "-Paused")]).await;
    let mark = stage.mark().await;
    stage.broker("b", spec(&json!({"replicas": 2}))).await;
    stage.delete(SERVICE, SYSTEM, "b-metrics").await;
    stage.until_stands("b", &[("Progressing", "-Paused")]).await;
    stage.until_passed("b").await;
    let writes = stage.asked(mark).await.writes().only(|event| event.subresource != "status");
    assert_no_writes(&writes);
    assert_eq!(stage.get(DEPLOYMENT, SYSTEM, "b").await["spec"]["replicas"], 1);
    stage.edit(BROKER, SYSTEM, "b", pause(Value::Null)).await;
    stage.until(DEPLOYMENT, (SYSTEM, "b"), "2 replicas", |seen| seen["spec"]["replicas"] == 2).await;
    stage.until_there(SERVICE, SYSTEM, "b-metrics").await;
}

/// Nobody reaches the Secrets of a namespace by naming it: its owner allows it first.
async fn another_namespace_of_secrets(stage: &Stage) {
    stage.broker("b", spec(&json!({"clusterSecretsNamespace": "elsewhere", "replicas": 2}))).await;
    stage.until_stands("b", &[("Degraded", "ApplyFailed")]).await;
    assert!(stage.get(BINDING, "elsewhere", SECRETS_BINDING).await.is_null());
    stage.allow_secrets("elsewhere").await;
    stage.until_there(BINDING, "elsewhere", SECRETS_BINDING).await;
    stage
        .until(DEPLOYMENT, (SYSTEM, "b"), "the other namespace", |seen| {
            container(seen)["args"].to_string().contains("=elsewhere")
        })
        .await;
    stage.until_passed("b").await;
    assert!(!stage.get(BINDING, CLUSTERS, SECRETS_BINDING).await.is_null(), "the old instance reads there");
    stage.roll_out("b").await;
    stage.until_gone(BINDING, CLUSTERS, SECRETS_BINDING).await;
    stage.until_stands("b", &[("Degraded", "-AsExpected")]).await;
    assert!(stage.log().contains("cannot tell whether there are cluster Secrets"), "{}", stage.log());
}

async fn nothing_is_left_of_it(stage: &Stage) {
    let uid = stage.get(BROKER, SYSTEM, "b").await["metadata"]["uid"].as_str().unwrap().to_owned();
    let kinds = [ACCOUNT, DEPLOYMENT, SERVICE, POLICY, BUDGET, BINDING, CLUSTER_BINDING];
    for kind in kinds {
        assert!(!stage.labelled(kind, &uid).await.is_empty(), "{kind:?} is not there to begin with");
    }
    stage.delete(BROKER, SYSTEM, "b").await;
    stage.until_gone(BROKER, SYSTEM, "b").await;
    for kind in kinds {
        let what = format!("{kind:?} to be gone");
        let gone = harness::wait_for(crate::stage::DEADLINE, &what, async || {
            let left = stage.labelled(kind, &uid).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
        gone.await.unwrap();
    }
    let events = stage.api(EVENT, SYSTEM).list(&kube::api::ListParams::default()).await.unwrap();
    let mut told: Vec<(String, String)> = events
        .items
        .iter()
        .filter(|event| event.data["regarding"]["uid"] == uid.as_str())
        .map(|event| ["eventTime", "reason"].map(|field| event.data[field].as_str().unwrap().to_owned()).into())
        .collect();
    told.sort();
    // A busy API server may fail a write now and then: what was said before that is said again after it.
    let mut kept: Vec<String> = Vec::new();
    let mut failed = false;
    for (_, reason) in told {
        let repeats = failed && kept.last() == Some(&reason);
        failed = reason == "ApplyFailed";
        if !failed && !repeats {
            kept.push(reason);
        }
    }
    let told = kept;
    for (reason, times) in [("NoClusterSecrets", 1), ("Recovered", 2), ("Paused", 1)] {
        assert_eq!(told.iter().filter(|it| *it == reason).count(), times, "{reason}: {told:?}");
    }
}
