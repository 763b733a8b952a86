//! When the page is painted first, in a real Chromium, where this machine has one or may install it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::Context as _;
use tokio::process::Command;

/// Exit code of what says that this machine cannot run it.
const CANNOT: i32 = 77;

/// What the tests of the page look at it with.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("e2e").join("page")
}

/// Loads the page so many times, with a pause after each: from the beginning of each navigation until its first contentful
/// paint. `Err` within: this machine cannot, and why.
pub(super) async fn paints(
    address: &str,
    times: usize,
    pause: Duration,
) -> anyhow::Result<Result<Vec<Duration>, String>> {
    // Where the tests of the page have it.
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("bench is not in target/release")?;
    let driver = target.join("page").join("driver");
    let install = run(Command::new(scripts().join("install.sh")).arg(&driver)).await?;
    let said = String::from_utf8_lossy(&install.stderr);
    if install.status.code() == Some(CANNOT) {
        return Ok(Err(said.lines().last().unwrap_or_default().to_owned()));
    }
    anyhow::ensure!(install.status.success(), "install.sh: {}\n{said}", install.status);
    let paint = scripts().join("paint.mjs");
    let mut look = Command::new("node");
    look.arg(paint).arg(format!("http://{address}")).arg(times.to_string());
    look.arg(pause.as_millis().to_string()).env("PAGE_MODULES", &driver);
    let look = run(&mut look).await?;
    anyhow::ensure!(look.status.success(), "paint.mjs: {}\n{}", look.status, String::from_utf8_lossy(&look.stderr));
    let told = String::from_utf8(look.stdout)?;
    let each = told.lines().map(|line| Ok(Duration::from_secs_f64(line.parse::<f64>()? / 1_000.0)));
    Ok(Ok(each.collect::<anyhow::Result<_>>().context("paint.mjs")?))
}

async fn run(command: &mut Command) -> anyhow::Result<std::process::Output> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.with_context(|| command.as_std().get_program().display().to_string())
}
