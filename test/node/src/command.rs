//! Programs that are run to their end.

use std::{path::Path, process::Stdio};

use anyhow::Context as _;
use tokio::{io::AsyncWriteExt as _, process::Command};

/// Runs a program and returns what it printed. It is killed when nobody waits for it any more.
///
/// # Errors
/// When it fails; with what it said.
pub(crate) async fn run(command: &mut Command) -> anyhow::Result<String> {
    run_with(command, "").await
}

/// The same, with `input` on its standard input.
pub(crate) async fn run_with(command: &mut Command, input: &str) -> anyhow::Result<String> {
    let shown = shown(command);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    // A program that does not read it all has its reasons, and its exit code says them.
    let _unread = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = child.wait_with_output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{shown}: {}: {}", output.status, said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let command = command.as_std();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
