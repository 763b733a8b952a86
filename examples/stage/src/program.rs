//! The programs of the examples: where they are, how they begin, and a client for the cluster of a kubeconfig.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use harness::Program;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// The binary that all demos and programs of the examples are in, as subcommands: it is linked once.
pub const BINARY: &str = "demo";

/// A program of the examples, called `name` in its lab.
///
/// # Errors
/// When the binary is not there; names the cargo command that builds it.
pub fn example(name: impl Into<String>, program: &str) -> anyhow::Result<Program> {
    Ok(Program::new(name, harness::binary(BINARY)?).arg(program))
}

/// Logs to standard error (`RUST_LOG` filters), and one TLS provider for the process. Called once, by `main`.
pub fn set_up_process() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    // The only way to fail is that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The client. Without a path: `$KUBECONFIG`, or the pod's own cluster.
pub async fn client(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("kubeconfig {}", path.display()))?;
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
            config.with_context(|| format!("kubeconfig {}", path.display()))?
        }
        None => Config::infer().await.context("no kubeconfig: give --kubeconfig")?,
    };
    // The controllers retry, object by object; a client that sleeps over a call would hold its object up unseen.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    Ok(Client::try_from(config)?)
}
