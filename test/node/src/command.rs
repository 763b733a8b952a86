//! Programs that are run to their end.

use std::{path::Path, process::Stdio};

use anyhow::Context as _;
use tokio::process::Command;

/// Runs a program and returns what it printed. It is killed when nobody waits for it any more.
///
/// # Errors
/// When it fails; with what it said.
pub(crate) async fn run(command: &mut Command) -> anyhow::Result<String> {
    let shown = shown(command);
    let ended = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = ended.with_context(|| format!("cannot start {shown}"))?;
    let [out, said] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    anyhow::ensure!(output.status.success(), "{shown}: {}: {}", output.status, format!("{out}{said}").trim());
    Ok(out.into_owned())
}

fn shown(command: &Command) -> String {
    let command = command.as_std();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
