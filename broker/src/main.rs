//! `resource-broker`: places objects of consumer clusters in provider clusters that accept them.

use std::process::ExitCode;

use resource_broker::{app, command_line::CommandLine};
use runtime_process::{life, logs};

/// Decisions parse and drop many small values on several threads; the system's allocator takes a quarter of the time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let CommandLine { options, notes } =
        CommandLine::parse(std::env::args_os().skip(1)).unwrap_or_else(|error| error.exit());
    logs::start(options.log_format, "info");
    for note in notes {
        tracing::warn!("{note}");
    }
    life::run(None, app::run(options))
}
