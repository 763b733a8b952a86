//! The kubeconfig that docs/operations.md says how to make by kubectl alone.

use e2e::Place;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{cast::Cast, owner::Owner};

/// Nobody has applied anything in this cluster yet.
pub(crate) fn needs_an_account(owner: &Owner) {
    let told = owner.kubeconfig().unwrap_err();
    assert!(told.contains("not found"), "{told}");
}

/// It leads to the cluster as the ServiceAccount of `config/rbac`.
pub(crate) async fn is_made_by_kubectl_alone(cast: &Cast, place: &Place) {
    let file = cast.owner(place).kubeconfig_file().await;
    let kubeconfig = Kubeconfig::read_from(file).unwrap();
    let server = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone();
    assert_eq!(server, Some(place.cluster.server_url()));
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let secrets: Api<Secret> = Api::all(Client::try_from(config).unwrap());
    secrets.list(&ListParams::default()).await.expect("it is the ServiceAccount's token");
}
