//! `cert-provider`: issues a real X.509 certificate for each `Certificate` of its cluster.

use std::{path::PathBuf, time::Duration};

use example_stage::program;

use crate::{authority::Authority, controller, reconcile::Context, retries::Retries};

/// Issues certificates for the Certificates (example.platform-mesh.io/v1alpha1) of one cluster.
#[derive(clap::Args)]
pub struct Args {
    /// Kubeconfig of the provider's cluster. In a pod, or with $KUBECONFIG, it can be left out.
    #[arg(long, env = "CERT_PROVIDER_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Common name of the certificate authority.
    #[arg(long, env = "CERT_PROVIDER_ISSUER_NAME", default_value = "internal.corp CA")]
    issuer_name: String,
    /// Namespace of the Secret that keeps the authority's key; made if missing.
    #[arg(long, env = "CERT_PROVIDER_CA_NAMESPACE", default_value = "cert-provider")]
    ca_namespace: String,
    /// How long a certificate is valid, in seconds; it is replaced when a third of that is left.
    #[arg(
        long,
        env = "CERT_PROVIDER_LIFETIME_SECONDS",
        default_value_t = 90 * 24 * 3600,
        value_parser = clap::value_parser!(u64).range(3..=5 * 365 * 24 * 3600)
    )]
    lifetime_seconds: u64,
}

/// Serves them until it is told to end.
pub async fn run(args: Args) -> anyhow::Result<()> {
    program::set_up_process();
    let client = program::client(args.kubeconfig.as_deref()).await?;
    let lifetime = Duration::from_secs(args.lifetime_seconds);
    let authority = Authority::load(&client, &args.ca_namespace, &args.issuer_name, lifetime).await?;
    tracing::info!(issuer = authority.name(), "serving Certificates");
    controller::run(Context { client, authority, retries: Retries::default() }).await;
    Ok(())
}
