//! What there is to run, and in which order.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::{report::Report, suite::Suite};

/// One line of what `cargo --message-format=json` says (The Cargo Book, External tools).
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// Builds all tests; one suite for each program that holds any.
pub(crate) fn suites(cargo: &str) -> anyhow::Result<Vec<Suite>> {
    let mut command = Command::new(cargo);
    command.args(["test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let built = command.stderr(Stdio::inherit()).output().context("cargo test --no-run")?;
    ensure!(built.status.success(), "the tests were not built");
    let lines = built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut suites = Vec::new();
    for line in lines {
        let message: Message = serde_json::from_slice(line).context("what cargo says of what it built")?;
        suites.extend(suite(message));
    }
    Ok(suites)
}

fn suite(message: Message) -> Option<Suite> {
    let executable = message.executable?;
    if message.reason != "compiler-artifact" || !message.profile?.test {
        return None;
    }
    let folder = message.manifest_path?.parent()?.to_owned();
    let package = package(message.package_id.as_deref().unwrap_or_default(), &folder)?;
    Some(Suite::tests(&format!("{package} {}", message.target?.name), executable, folder))
}

/// What a package is called, for two may have folders of one name: by its id, which says so only where its folder says
/// another (The Cargo Book, Package ID Specifications).
fn package(id: &str, folder: &Path) -> Option<String> {
    let named = id.rsplit_once('#').and_then(|(_, end)| end.split_once('@')).map(|(name, _)| name.to_owned());
    named.or_else(|| Some(folder.file_name()?.to_string_lossy().into_owned()))
}

/// How many seconds the longest suites took somewhere: for a checkout where none has run.
const ELSEWHERE: &str = include_str!("../times.json");

/// How many seconds each suite took the last time.
pub(crate) fn times(file: &Path) -> BTreeMap<String, u64> {
    let read = |text: &[u8]| serde_json::from_slice::<BTreeMap<String, u64>>(text).ok();
    let last = fs::read(file).ok().and_then(|times| read(&times));
    last.or_else(|| read(ELSEWHERE.as_bytes())).unwrap_or_default()
}

/// For the next time.
pub(crate) fn keep_times(file: &Path, report: &Report) -> anyhow::Result<()> {
    fs::write(file, serde_json::to_vec(&report.times())?).with_context(|| file.display().to_string())
}

/// What is not known yet may be long.
pub(crate) fn longest_first(suites: &mut [Suite], last: &BTreeMap<String, u64>) {
    suites.sort_by_key(|suite| std::cmp::Reverse(last.get(&suite.name).copied().unwrap_or(u64::MAX)));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Suite> {
        suite(serde_json::from_str(line).unwrap())
    }

    #[test]
    fn a_program_with_tests_is_a_suite() {
        let artifact = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/broker/core#broker-core@0.1.0","manifest_path":"/w/broker/core/Cargo.toml","target":{{"name":"decide","kind":["test"]}},
                    "profile":{{"test":{test},"opt_level":"0"}},"executable":{executable},"fresh":true}}"#
            )
        };
        assert_eq!(of(&artifact(true, r#""/t/decide-1""#)).unwrap().name, "broker-core decide");
        assert!(of(&artifact(false, r#""/t/broker""#)).is_none(), "a program that tests start");
        assert!(of(&artifact(true, "null")).is_none());
        assert!(of(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    #[test]
    fn a_package_is_called_as_its_id_or_its_folder_says() {
        let of = |id: &str| package(id, Path::new("/w/test/e2e")).unwrap();
        assert_eq!(of("path+file:///w/test/e2e#0.1.0"), "e2e");
        assert_eq!(of("path+file:///w/test/e2e#other@0.1.0"), "other");
        assert_eq!(of(""), "e2e");
    }

    #[test]
    fn where_none_has_run_it_is_known_which_are_long() {
        let known = times(Path::new("/no/such/file"));
        assert!(known["e2e hostile"] > known["e2e reference"]);
    }

    #[test]
    fn the_longest_begin_first_and_before_them_what_is_new() {
        let named = |name: &str| Suite::program(name, "true");
        let mut suites = [named("short"), named("long"), named("new")];
        longest_first(&mut suites, &BTreeMap::from([("short".into(), 1), ("long".into(), 9)]));
        assert_eq!(suites.map(|suite| suite.name), ["new", "long", "short"]);
    }
}
