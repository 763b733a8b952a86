//! `config/rbac/kubeconfig.sh`: what it prints, and what it says when something is wrong.

use e2e::{Place, world::place};
use harness::{ClusterOptions, Lab, LabOptions};

use crate::owner::Owner;

async fn cluster(lab: &Lab, controller_manager: bool) -> Place {
    let options = ClusterOptions { controller_manager, ..ClusterOptions::default() };
    place(lab, if controller_manager { "homer" } else { "bare" }, &options, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_and_a_cluster_secret_come_from_one_command() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let homer = cluster(&lab, true).await;
    let owner = Owner::of(&lab, &homer);
    let told = owner.kubeconfig_sh(&[]).unwrap_err();
    assert!(told.contains("no Secret resource-broker-system/resource-broker-token"), "{told}");
    assert!(told.contains("config/rbac"), "it says what to do: {told}");

    owner.apply("rbac/consumer.yaml");
    let printed = owner.kubeconfig_sh(&[]).unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&printed).unwrap();
    let server = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone();
    assert_eq!(server, Some(homer.cluster.server_url()));
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> = kube::Api::all(client);
    secrets.list(&kube::api::ListParams::default()).await.expect("it is the ServiceAccount's token");

    let args = ["--secret", "homer", "--role", "consumer", "--namespace", "there", "--server", "https://homer:6443"];
    let secret = owner.kubeconfig_sh(&args).unwrap();
    let [secret] = &harness::parse_objects(&secret).unwrap()[..] else { panic!("one Secret: {secret}") };
    assert_eq!(secret.metadata.name.as_deref(), Some("homer"));
    assert_eq!(secret.metadata.namespace.as_deref(), Some("there"));
    assert_eq!(secret.metadata.labels.as_ref().unwrap()["broker.platform-mesh.io/role"], "consumer");
    let inside = secret.data["stringData"]["kubeconfig"].as_str().unwrap();
    assert_eq!(inside, printed.replace(&homer.cluster.server_url(), "https://homer:6443"));

    for (args, says) in [
        (&["--secret", "homer"][..], "--role provider or --role spoke"),
        (&["--secret", "homer", "--role", "both"], "not both"),
        (&["--secret", "Homer", "--role", "consumer"], "--secret Homer"),
        (&["--role", "consumer"], "go with --secret"),
        (&["--namespace"], "CONTEXT is missing"),
        (&["--what"], "unknown option --what"),
        (&["another"], "one CONTEXT"),
    ] {
        let told = owner.kubeconfig_sh(args).unwrap_err();
        assert!(told.contains(says) && told.contains("usage: "), "{args:?}: {told}");
    }
}
