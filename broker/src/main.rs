//! `resource-broker`: places objects of consumer clusters in provider clusters that accept them.

use std::process::ExitCode;

use clap::Parser as _;
use resource_broker::{
    app,
    options::{LogFormat, Options},
};
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match options.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
    // One TLS provider for the whole process; it can only be set once, here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match app::run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
