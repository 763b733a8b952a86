//! The clusters that a program's flags name.

use std::path::Path;

use anyhow::Context as _;
use broker_api::{ClusterName, Role};
use runtime_fleet::{
    kubeconfig::{Kubeconfig, Trust},
    source::cluster_of,
};

/// Name of the cluster where the Pod's own is used.
const IN_CLUSTER: &str = "in-cluster";

/// The cluster of a kubeconfig, or without one that of the Pod's own service account. `flags`: how to name one, for people.
///
/// # Errors
/// The file cannot be read or used; or there is none, and this is no Pod.
pub async fn given(
    role: Role,
    path: Option<&Path>,
    allow_local: bool,
    flags: &str,
) -> anyhow::Result<(ClusterName, Kubeconfig)> {
    if let Some(path) = path {
        return read(role, path, allow_local).await;
    }
    let own = Kubeconfig::in_cluster();
    let own = own.with_context(|| format!("no cluster: give its kubeconfig with {flags}, or run in a Pod"))??;
    Ok((ClusterName::new(role, IN_CLUSTER), own))
}

/// The cluster of a kubeconfig; `allow_local`: it may name files and programs of this machine.
///
/// # Errors
/// The file cannot be read or used.
pub async fn read(role: Role, path: &Path, allow_local: bool) -> anyhow::Result<(ClusterName, Kubeconfig)> {
    let text = tokio::fs::read_to_string(path)
        .await
        .with_context(|| format!("cannot read the {role} cluster's kubeconfig {}", path.display()))?;
    let folder = path.parent().unwrap_or(path).to_owned();
    let kubeconfig = Kubeconfig::parse(&text, &Trust::File { folder, allow_local })
        .with_context(|| format!("the {role} cluster's kubeconfig {} cannot be used", path.display()))?;
    Ok((cluster_of(role, path).unwrap_or_else(|| ClusterName::new(role, role.as_str())), kubeconfig))
}
