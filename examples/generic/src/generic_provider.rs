//! `generic-provider`: serves the VirtualMachines, KubernetesClusters and SQLs of one cluster. Nothing really runs.

use std::{path::PathBuf, sync::Arc};

use broker_api::generic::{
    compute::{KubernetesCluster, VirtualMachine},
    databases::Sql,
};
use example_stage::program;

use crate::{
    controller::{self, Context},
    product::Site,
};

/// Serves the VirtualMachines, KubernetesClusters (compute.generic.platform-mesh.io) and SQLs
/// (databases.generic.platform-mesh.io) of one cluster. Nothing really runs.
#[derive(clap::Args)]
pub struct Args {
    /// Kubeconfig of the provider's cluster. In a pod, or with $KUBECONFIG, it can be left out.
    #[arg(long, env = "GENERIC_PROVIDER_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Domain of the addresses that it hands out.
    #[arg(long, env = "GENERIC_PROVIDER_DOMAIN", default_value = "example.com")]
    domain: String,
}

/// Serves them until it is told to end.
pub async fn run(args: Args) -> anyhow::Result<()> {
    program::set_up_process();
    let client = program::client(args.kubeconfig.as_deref()).await?;
    tracing::info!(domain = args.domain, "serving VirtualMachines, KubernetesClusters and SQLs");
    let context = Arc::new(Context { client, site: Site { domain: args.domain } });
    tokio::join!(
        controller::run::<VirtualMachine>(Arc::clone(&context)),
        controller::run::<KubernetesCluster>(Arc::clone(&context)),
        controller::run::<Sql>(context),
    );
    Ok(())
}
