//! `keyvalue-provider`: serves the KeyValues of one cluster. The stores are in that cluster's ConfigMaps, and it answers
//! for all of them over HTTP.

use std::{net::SocketAddr, path::PathBuf};

use crate::{
    provider::{self, Context},
    server,
};
use anyhow::Context as _;
use example_stage::program;
use tokio::net::TcpListener;

/// Serves the KeyValues (databases.generic.platform-mesh.io/v1alpha1) of one cluster.
#[derive(clap::Args)]
pub struct Args {
    /// Kubeconfig of the provider's cluster. In a pod, or with $KUBECONFIG, it can be left out.
    #[arg(long, env = "KEYVALUE_PROVIDER_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Where it listens. Port 0 is any that is free.
    #[arg(long, env = "KEYVALUE_PROVIDER_LISTEN", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Address under which users reach it, such as http://stores.example.org. Default: where it listens.
    #[arg(long, env = "KEYVALUE_PROVIDER_URL")]
    url: Option<String>,
}

/// Serves them until it is told to end.
pub async fn run(args: Args) -> anyhow::Result<()> {
    program::set_up_process();
    let client = program::client(args.kubeconfig.as_deref()).await?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let url = args.url.map_or_else(|| listener.local_addr().map(|address| format!("http://{address}")), Ok)?;
    tracing::info!(url, "serving KeyValues");
    let server = axum::serve(listener, server::router(client.clone()));
    tokio::select! {
        ended = async { server.await } => ended.context("the HTTP server ended"),
        () = provider::run(Context { client, url }) => Ok(()),
    }
}
