//! `generic-provider`: serves the VirtualMachines, KubernetesClusters and SQLs of one cluster. Nothing really runs.

use std::{path::PathBuf, sync::Arc};

use broker_api::generic::{
    compute::{KubernetesCluster, VirtualMachine},
    databases::Sql,
};
use clap::Parser;
use example_stage::program;
use generic_example::{
    controller::{self, Context},
    product::Site,
};

/// Serves the VirtualMachines, KubernetesClusters (compute.generic.platform-mesh.io) and SQLs
/// (databases.generic.platform-mesh.io) of one cluster. Nothing really runs.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Kubeconfig of the provider's cluster. In a pod, or with $KUBECONFIG, it can be left out.
    #[arg(long, env = "GENERIC_PROVIDER_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Domain of the addresses that it hands out.
    #[arg(long, env = "GENERIC_PROVIDER_DOMAIN", default_value = "example.com")]
    domain: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
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
