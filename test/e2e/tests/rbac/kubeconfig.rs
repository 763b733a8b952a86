//! The kubeconfig that docs/operations.md says how to make by kubectl alone.

use e2e::{Place, world::place};
use harness::{ClusterOptions, Lab, LabOptions};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::owner::Owner;

async fn homer(lab: &Lab) -> Place {
    let options = ClusterOptions { controller_manager: true, ..ClusterOptions::default() };
    place(lab, "homer", &options, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_is_made_by_kubectl_alone() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let homer = homer(&lab).await;
    let owner = Owner::of(&lab, &homer);
    let told = owner.kubeconfig().unwrap_err();
    assert!(told.contains("not found"), "{told}");

    owner.apply("rbac/consumer.yaml");
    let file = owner.kubeconfig_file().await;
    let kubeconfig = Kubeconfig::read_from(file).unwrap();
    let server = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone();
    assert_eq!(server, Some(homer.cluster.server_url()));
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let secrets: Api<Secret> = Api::all(Client::try_from(config).unwrap());
    secrets.list(&ListParams::default()).await.expect("it is the ServiceAccount's token");
}
