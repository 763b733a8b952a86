//! `resource-broker`: places objects of consumer clusters in provider clusters that accept them.

use std::{process::ExitCode, time::Duration};

use resource_broker::{app, command_line::CommandLine};
use runtime_process::logs;

/// Decisions parse and drop many small values on several threads; the system's allocator takes a quarter of the time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long what cannot be cancelled (name resolution, a credential plugin) may keep the process from ending.
const LINGER: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let CommandLine { options, notes } =
        CommandLine::parse(std::env::args_os().skip(1)).unwrap_or_else(|error| error.exit());
    logs::start(options.log_format, "info");
    for note in notes {
        tracing::warn!("{note}");
    }
    // One TLS provider for the whole process; it can only be set once, here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
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
