//! `Access`: how the clusters are reached.

use std::path::PathBuf;

use clap::Args;

/// See the module.
#[derive(Debug, Clone, Args)]
pub(crate) struct Access {
    /// Kubeconfig with the coordination cluster; kubectl's unless it is given
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the coordination cluster; the current one unless it is given
    #[arg(long, global = true, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,

    /// Namespace of the coordination cluster with the Secrets of clusters; repeatable
    #[arg(
        long,
        global = true,
        env = "RESOURCE_BROKER_CLUSTER_SECRETS_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ',',
        default_value = "resource-broker-clusters"
    )]
    pub(crate) cluster_secrets_namespace: Vec<String>,

    /// Kubeconfig of a consumer, which is named by the file's stem; repeatable
    #[arg(long, global = true, value_name = "FILE", value_delimiter = ',')]
    pub(crate) consumer_kubeconfig: Vec<PathBuf>,

    /// Kubeconfig of a provider, which is named by the file's stem; repeatable
    #[arg(long, global = true, value_name = "FILE", value_delimiter = ',')]
    pub(crate) provider_kubeconfig: Vec<PathBuf>,

    /// Kubeconfig of a spoke, which is named by the file's stem; repeatable
    #[arg(long, global = true, value_name = "FILE", value_delimiter = ',')]
    pub(crate) spoke_kubeconfig: Vec<PathBuf>,

    /// Kubeconfig of the cluster where stages run, as the broker is given it; the coordination cluster unless it is given
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) compute_kubeconfig: Option<PathBuf>,
}
