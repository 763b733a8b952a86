//! Log lines, of the broker and of its operator: to standard error, in the form that the flag asks for.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::options::LogFormat;

/// Starts logging: what `RUST_LOG` says, else `filter`. Once per process.
pub fn start(format: LogFormat, filter: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}
