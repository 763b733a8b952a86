//! `resource-broker-operator`: deploys resource brokers from `Broker` objects.

use std::{process::ExitCode, time::Duration};

use clap::Parser as _;
use resource_broker_operator::{app, arguments, options::Options};
use runtime_process::logs;

/// How long what cannot be cancelled (name resolution) may keep the process from ending.
const LINGER: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let (args, notes) = arguments::normalize(std::env::args().skip(1));
    let options = Options::parse_from(std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(args));
    // kube tells of each failure, too; ours say what it means.
    logs::start(options.log_format, "info,kube_runtime=off,kube_client=off");
    for note in notes {
        tracing::warn!("{note}");
    }
    // One TLS provider for the whole process; it can only be set once, here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!("no threads to be had: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(app::run(options));
    runtime.shutdown_timeout(LINGER);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
