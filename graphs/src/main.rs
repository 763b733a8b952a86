//! `resource-graphs`: serves ResourceGraphDefinitions.

use std::process::ExitCode;

use clap::Parser as _;
use resource_graphs::{app, options::Options};
use runtime_process::{life, logs};

/// Decisions parse and drop many small values on several threads; the system's allocator takes a quarter of the time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let options = Options::parse();
    logs::start(options.log_format, "info");
    life::run(None, app::run(options))
}
