//! The kubeconfig of a Pod: the API server that runs it, with its ServiceAccount.

use std::path::Path;

use kube::config::{AuthInfo, Cluster};

use super::{Kubeconfig, endpoint, error::KubeconfigError, fingerprint, named::Named, trust::Trust};

/// Where the kubelet mounts the ServiceAccount.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Kubeconfig {
    /// For a process in a Pod, from `$KUBERNETES_SERVICE_HOST`, `$KUBERNETES_SERVICE_PORT` and the mounted
    /// ServiceAccount, whose token and CA are read again when they are rotated. None outside of a Pod.
    pub fn in_cluster() -> Option<Result<Self, KubeconfigError>> {
        let host = std::env::var("KUBERNETES_SERVICE_HOST").ok()?;
        let port = std::env::var("KUBERNETES_SERVICE_PORT").ok()?;
        Some(of_pod(&host, &port, Path::new(FOLDER)))
    }
}

pub(super) fn of_pod(host: &str, port: &str, folder: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let file = |name: &str| Some(folder.join(name).to_string_lossy().into_owned());
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let cluster = Cluster {
        server: Some(format!("https://{host}:{port}")),
        certificate_authority: file("ca.crt"),
        ..Cluster::default()
    };
    let user = AuthInfo { token_file: file("token"), ..AuthInfo::default() };
    let cluster = Named { path: "$KUBERNETES_SERVICE_HOST".to_owned(), value: cluster };
    let trust = Trust::File { folder: folder.to_owned(), allow_local: true };
    let server = endpoint::check(&cluster, &trust)?;
    let fingerprint = fingerprint::of(&cluster.value, &user);
    let namespace = std::fs::read_to_string(folder.join("namespace")).ok().map(|name| name.trim().to_owned());
    Ok(Kubeconfig { server, cluster: cluster.value, user, namespace, fingerprint })
}
