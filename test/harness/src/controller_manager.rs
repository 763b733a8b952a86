//! The controllers that give owner references, namespace deletion and aggregated roles their real behaviour.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};

use crate::binaries;
use crate::certificate::Certificates;
use crate::process::{Process, Program};
use crate::wait_for;

const READY_DEADLINE: Duration = Duration::from_mins(1);
const CONTROLLERS: &str = "clusterrole-aggregation-controller,garbage-collector-controller,namespace-controller,\
    serviceaccount-controller,serviceaccount-token-controller";

/// The program for one cluster, with `all` controllers that are on by default or just those. Its default limit of 20
/// requests a second would make a namespace's end take seconds.
pub(crate) fn program(
    cluster: &str,
    kubeconfig: &Path,
    certificates: &Certificates,
    all: bool,
) -> anyhow::Result<Program> {
    let controllers = if all { "*" } else { CONTROLLERS };
    // Those of volumes look for plugins, in a folder of the machine's that they make if nobody says otherwise.
    let plugins = kubeconfig.with_file_name("volume-plugins");
    Ok(Program::new(format!("{cluster}-controller-manager"), binaries::control_plane("kube-controller-manager")?)
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--controllers={controllers}"))
        .arg(format!("--flex-volume-plugin-dir={}", plugins.display()))
        .arg(format!("--service-account-private-key-file={}", certificates.service_account_key.display()))
        .arg(format!("--root-ca-file={}", certificates.authority.display()))
        .args([
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--profiling=false",
        ]))
}

/// Waits until it works: until it has made the service account that every namespace has.
pub(crate) async fn until_ready(process: &mut Process, client: &Client) -> anyhow::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let ready = wait_for(READY_DEADLINE, "the controller manager", async || accounts.get("default").await).await;
    ready.map_err(|error| error.context(process.last_lines()))?;
    Ok(())
}
