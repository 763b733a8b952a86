//! Providers, and the Jobs of the configuration against real API servers. The test plays the broker.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use broker_api::{Availability, MigrationConfiguration, generic::databases::KeyValue};
use example_stage::{controllers, program};
use harness::{Cluster, ClusterOptions, Lab, LabOptions, Process, wait_for};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret},
};
use kube::{Api, Client, ResourceExt, api::ListParams};
use migration_example::{
    access::Access,
    content::Entries,
    remote::{Remote, RemoteError},
};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_mins(1);
const CONFIGURATION: &str = include_str!("../hub/migrationconfiguration.yaml");
/// Where it stands: the broker's own namespace, which the installation makes.
const SYSTEM: &str = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "resource-broker-system"}}"#;

/// A provider cluster with its program.
struct Provider {
    cluster: Cluster,
    client: Client,
    process: Process,
}

fn provider_program(lab: &Lab, cluster: &Cluster) -> Process {
    let kubeconfig = lab.directory().join(format!("{}.kubeconfig", cluster.name()));
    cluster.write_kubeconfig("provider-controller", &kubeconfig).unwrap();
    let name = format!("keyvalue-provider-{}", cluster.name());
    let program = program::example(name, "keyvalue-provider").unwrap().arg("--kubeconfig").arg(kubeconfig);
    lab.start_process(&program).unwrap()
}

async fn install(cluster: &Cluster, name: &str) {
    let crds = broker_api::crds();
    let crd = crds.iter().find(|crd| crd.name_any().starts_with(name)).unwrap();
    cluster.apply("person", &serde_json::to_string(crd).unwrap()).await.unwrap();
}

impl Provider {
    async fn start(lab: &Lab, cluster: Cluster) -> Self {
        install(&cluster, "keyvalues.").await;
        let process = provider_program(lab, &cluster);
        let client = cluster.client("person").await.unwrap();
        Self { cluster, client, process }
    }

    /// Waits until the KeyValue is available, and returns its Secret.
    async fn served(&self, name: &str) -> Secret {
        let key_values = Api::<KeyValue>::namespaced(self.client.clone(), "default");
        let what = format!("{name} in {} to be available", self.cluster.name());
        let related = wait_for(DEADLINE, &what, async || {
            let status = key_values.get(name).await?.status.unwrap_or_default();
            anyhow::ensure!(status.status == Some(Availability::Available), "{status:?}");
            Ok(status.related_resources["access"].clone())
        })
        .await
        .unwrap();
        let secrets = Api::<Secret>::namespaced(self.client.clone(), "default");
        secrets.get(&related.name).await.unwrap()
    }
}

fn remote(secret: &Secret) -> Remote {
    Remote::new(Access::from_secret(secret).unwrap()).unwrap()
}

fn entries(pairs: &[(&str, &str)]) -> Entries {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Creates the Job of a stage, and returns how it ended, and what its program said last.
async fn run(hub: &Client, stage: &str, name: &str, change: impl FnOnce(&mut Value)) -> (String, String) {
    let text = CONFIGURATION
        .replace("${migration.status.id}", "m1")
        .replace("${from.status.relatedResources.access.name}", "cart-access")
        .replace("${to.status.relatedResources.access.name}", "cart-access");
    let configuration: MigrationConfiguration = serde_saphyr::from_str(&text).unwrap();
    let stage = configuration.spec.stages.into_iter().find(|held| held.name == stage).unwrap();
    let mut job = Value::Object(stage.templates[&stage.name].0.clone());
    job["metadata"] = json!({ "name": name });
    change(&mut job);
    let jobs = Api::<Job>::namespaced(hub.clone(), "default");
    jobs.create(&kube::api::PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let what = format!("Job {name} to end");
    let end = wait_for(DEADLINE, &what, async || {
        let status = jobs.get(name).await?.status.unwrap_or_default();
        let end = status.conditions.iter().flatten().find(|held| matches!(held.type_.as_str(), "Complete" | "Failed"));
        anyhow::Ok(end.ok_or_else(|| anyhow::anyhow!("{status:?}"))?.type_.clone())
    });
    let end = end.await.unwrap();
    let pods = Api::<Pod>::namespaced(hub.clone(), "default");
    let pod = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
    let pod = pods.list(&pod).await.unwrap().items.remove(0);
    let said = pod.status.unwrap().container_statuses.unwrap().remove(0).state.unwrap().terminated.unwrap().message;
    (end, said.unwrap_or_default())
}

#[tokio::test]
async fn data_moves_from_one_store_to_another() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let options = ClusterOptions { workloads: controllers::GROUPS.into(), ..ClusterOptions::default() };
    let [hub, classic, modern] =
        lab.clusters_with(&["hub", "classic", "modern"], &options).await.unwrap().try_into().unwrap();
    let (mut classic, modern) =
        tokio::join!(Box::pin(Provider::start(&lab, classic)), Box::pin(Provider::start(&lab, modern)));
    install(&hub, "migrationconfigurations.").await;
    hub.apply("person", SYSTEM).await.unwrap();
    hub.apply("person", CONFIGURATION).await.expect("the API server takes the configuration");
    let controllers = controllers::program(&lab, &hub, &controllers::WORKLOADS).unwrap();
    let _controllers = lab.start_process(&controllers).unwrap();
    let kubeconfig = lab.directory().join("pod-runner.kubeconfig");
    hub.write_kubeconfig("admin", &kubeconfig).unwrap();
    let demo = harness::binary(program::BINARY).unwrap();
    let program = program::example("pod-runner", "pod-runner")
        .unwrap()
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--directory")
        .arg(lab.directory())
        .args(["--program", &format!("{}={}", program::BINARY, demo.display())]);
    let _runner = lab.start_process(&program).unwrap();
    let hub_client = hub.client("person").await.unwrap();

    // Two stores, one with data.
    for provider in [&classic, &modern] {
        provider.cluster.apply("person", include_str!("../consumer/keyvalue.yaml")).await.unwrap();
    }
    let (from, to) = (classic.served("cart").await, modern.served("cart").await);
    let (old, new) = (remote(&from), remote(&to));
    let data = entries(&[("anna", "2 pears"), ("bert", ""), ("umlaut", "Äpfel\n")]);
    for (key, value) in &data {
        old.put(key, value).await.unwrap();
    }
    assert_eq!(old.entries().await.unwrap(), data);

    // Whoever has not its token gets nothing.
    let access = Access::from_secret(&from).unwrap();
    let thief = Remote::new(Access { token: Access::from_secret(&to).unwrap().token, ..access }).unwrap();
    assert!(matches!(thief.entries().await, Err(RemoteError::Refused { status: 401, .. })));
    assert!(matches!(thief.hold(1).await, Err(RemoteError::Refused { status: 401, .. })));

    // A Job whose Secrets come later waits for them, as it would for a kubelet.
    let secrets = async {
        let jobs = Api::<Job>::namespaced(hub_client.clone(), "default");
        let there = wait_for(DEADLINE, "the Job", async || jobs.get("m1-copy").await).await;
        there.unwrap();
        for (side, secret) in [("from", &from), ("to", &to)] {
            let name = format!("m1-{side}-cart-access");
            let copy =
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": secret.data });
            hub.apply("person", &copy.to_string()).await.unwrap();
        }
    };
    let (ended, ()) = tokio::join!(run(&hub_client, "copy", "m1-copy", |_| ()), secrets);
    assert_eq!(ended.0, "Complete", "{}", ended.1);
    assert_eq!(new.entries().await.unwrap(), data);
    assert!(old.put("late", "1").await.unwrap_err().is_held());
    assert_eq!(old.entries().await.unwrap(), data);

    // A difference is found, and the old store, which stays in use, takes writes again.
    new.put("extra", "1").await.unwrap();
    let (word, message) = run(&hub_client, "verify", "m1-verify", |_| ()).await;
    assert_eq!(word, "Failed");
    assert!(message.contains("1 entries differ") && message.contains("extra"), "{message}");
    old.put("late", "1").await.unwrap();

    // Both can be repeated.
    assert_eq!(run(&hub_client, "copy", "m1-copy-2", |_| ()).await.0, "Complete");
    assert_eq!(run(&hub_client, "verify", "m1-verify-2", |_| ()).await.0, "Complete");
    assert_eq!(new.entries().await.unwrap(), old.entries().await.unwrap());
    assert_eq!(run(&hub_client, "seal", "m1-seal", |_| ()).await.0, "Complete");
    assert!(old.put("late", "2").await.unwrap_err().is_held());

    // A runner runs what it was given, and nothing else.
    let command = |job: &mut Value| job["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["/bin/sh"]);
    let (word, message) = run(&hub_client, "copy", "m1-shell", command).await;
    assert_eq!(word, "Failed");
    assert!(message.contains("no program \"/bin/sh\""), "{message}");

    // A restart forgets nothing; the address may change, the token does not.
    classic.process.terminate(DEADLINE).await.unwrap();
    classic.process = provider_program(&lab, &classic.cluster);
    let before = Access::from_secret(&from).unwrap();
    let moved = wait_for(DEADLINE, "another address in the Secret", async || {
        let secret = classic.served("cart").await;
        (Access::from_secret(&secret).unwrap().url != before.url).then_some(secret)
    })
    .await
    .unwrap();
    assert_eq!(Access::from_secret(&moved).unwrap().token, before.token);
    assert_eq!(remote(&moved).entries().await.unwrap(), new.entries().await.unwrap());
    assert!(remote(&moved).put("late", "2").await.unwrap_err().is_held());

    // What belongs to a KeyValue is owned by it.
    let stores = Api::<ConfigMap>::namespaced(classic.client.clone(), "default");
    let uid = Api::<KeyValue>::namespaced(classic.client.clone(), "default").get("cart").await.unwrap().uid().unwrap();
    assert_eq!(stores.get("cart-data").await.unwrap().owner_references()[0].uid, uid);
    assert_eq!(moved.owner_references()[0].uid, uid);
}
