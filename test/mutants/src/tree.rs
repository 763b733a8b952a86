//! The copy of the sources that is broken, and what is built of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{folder, mutation::Mutation, scheme};

/// All files with mutations, broken.
pub(crate) fn broken(workspace: &Path, mutations: &[Mutation]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut by_file: BTreeMap<&str, Vec<&Mutation>> = BTreeMap::new();
    for mutation in mutations {
        by_file.entry(&mutation.file).or_default().push(mutation);
    }
    let broken = by_file.into_iter().map(|(file, mutations)| {
        let source = fs::read_to_string(workspace.join(file)).with_context(|| file.to_owned())?;
        Ok((file.to_owned(), scheme::with_all(&source, &mutations)?))
    });
    broken.collect()
}

/// What git knows of, or would.
fn files(workspace: &Path) -> anyhow::Result<BTreeSet<String>> {
    let git = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = Command::new("git").args(git).current_dir(workspace).output().context("git ls-files")?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).context("git ls-files")?;
    let is_there = |name: &&str| !name.is_empty() && workspace.join(name).is_file();
    Ok(names.split('\0').filter(is_there).map(str::to_owned).collect())
}

/// Brings the copy up to date. What is the same is left as it is, so that no more is built anew than has changed.
pub(crate) fn write(workspace: &Path, tree: &Path, mutations: &[Mutation]) -> anyhow::Result<()> {
    let mut broken = broken(workspace, mutations)?;
    let files = files(workspace)?;
    for name in &files {
        let content = match broken.remove(name) {
            Some(broken) => broken.into_bytes(),
            None => fs::read(workspace.join(name)).with_context(|| name.clone())?,
        };
        let path = tree.join(name);
        if fs::read(&path).is_ok_and(|held| held == content) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    ensure!(broken.is_empty(), "git does not know of {:?}", broken.keys());
    sweep(tree, tree, &files)?;
    Ok(())
}

/// Takes away what is not among these.
fn sweep(tree: &Path, folder: &Path, files: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sweep(tree, &path, files)?;
        } else if !path.strip_prefix(tree).ok().and_then(Path::to_str).is_some_and(|name| files.contains(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Builds the worlds, beside those that are not broken: what both depend on is built once. Returns the program.
pub(crate) fn build(workspace: &Path, tree: &Path) -> anyhow::Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["test", "--locked", "--profile", "simulate", "--package", "sim", "--test", "worlds", "--no-run"])
        .args(["--message-format", "json", "--manifest-path"])
        .arg(tree.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder::target())
        // Where cargo's configuration is looked for: once, and not above the copy as well.
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo")?;
    let said = String::from_utf8_lossy(&built.stdout);
    let messages: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // What is broken looks odd to the compiler: of all that it warns of nothing matters.
    for error in messages.iter().filter(|message| message["message"]["level"] == "error") {
        eprintln!("{}", error["message"]["rendered"].as_str().unwrap_or_default());
    }
    ensure!(built.status.success(), "it cannot be built");
    let worlds =
        messages.iter().find(|message| message["target"]["name"] == "worlds" && message["executable"].is_string());
    let program = worlds.and_then(|worlds| worlds["executable"].as_str()).map(PathBuf::from);
    program.context("cargo does not say where the program is")
}
