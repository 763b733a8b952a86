//! `resource-broker-operator`: deploys resource brokers from `Broker` objects.

use std::process::ExitCode;

use clap::Parser as _;
use resource_broker_operator::{app, arguments, options::Options};
use runtime_process::{life, logs};

fn main() -> ExitCode {
    let (args, notes) = arguments::normalize(std::env::args().skip(1));
    let options = Options::parse_from(std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(args));
    // kube tells of each failure, too; ours say what it means.
    logs::start(options.log_format, "info,kube_runtime=off,kube_client=off");
    for note in notes {
        tracing::warn!("{note}");
    }
    life::run(Some(2), app::run(options))
}
