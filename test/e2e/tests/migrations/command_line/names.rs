//! What may come next, as bash and kubectl ask for it: names that the clusters have.

use std::{env, fs, os::unix::fs::PermissionsExt as _};

use e2e::World;
use serde_json::Value;
use tokio::process::Command;

use super::{kubeconfigs, until_counted};
use crate::{
    HOMER,
    trip::{Trip, at_home},
};

/// What bash does when somebody presses the key, with what was typed as arguments.
const BASH: &str = r#"
source <(kubectl-broker completions bash)
COMP_LINE="kubectl-broker $*"
COMP_POINT=${#COMP_LINE}
compopt() { :; }
_kubectl_broker
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// A folder of `PATH` with the program, and with what kubectl looks for.
fn installed(world: &World) -> String {
    let program = harness::binary("kubectl-broker").unwrap();
    let folder = world.lab.directory().join("completes");
    fs::create_dir_all(&folder).unwrap();
    let said = std::process::Command::new(&program).args(["completions", "kubectl"]).output().unwrap();
    let script = folder.join("kubectl_complete-broker");
    fs::write(&script, said.stdout).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let beside = [program, harness::kubectl_binary().unwrap()].map(|path| path.parent().unwrap().to_owned());
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = [folder].into_iter().chain(beside).chain(env::split_paths(&others));
    env::join_paths(folders).unwrap().into_string().unwrap()
}

/// The lines that a program prints, but for the last one of kubectl's, which says how they are taken.
async fn lines(program: &str, args: &[&str], words: &[String], path: &str) -> Vec<String> {
    let output = Command::new(program).args(args).args(words).env("PATH", path).output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let all = said.lines().filter(|line| !line.is_empty() && !line.starts_with(':')).map(str::to_owned);
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    all.collect()
}

/// Whoever types this is offered that, in bash and by kubectl. To bash a word begins behind its last `=`.
async fn is_offered(trip: &Trip<'_>, path: &str, typed: &[&str], offered: &[&str]) {
    let mut words = kubeconfigs(trip.scene.world);
    words.extend(typed.iter().map(|word| (*word).to_owned()));
    let by_bash = lines("bash", &["-c", BASH, "bash"], &words, path).await;
    let by_kubectl = lines("kubectl", &["__complete", "broker"], &words, path).await;
    let begun = typed.last().and_then(|word| word.rfind('=')).map_or(0, |at| at + 1);
    let behind: Vec<&str> = offered.iter().map(|word| &word[begun..]).collect();
    assert_eq!(by_bash, behind, "bash: {typed:?}");
    assert_eq!(by_kubectl, offered, "kubectl: {typed:?}");
}

#[test]
fn names_of_clusters_and_objects_are_offered() {
    at_home("cli-names", Value::Null, async |trip| {
        let world = trip.scene.world;
        until_counted(&[(trip.ariadne, &trip.accept, 1)]).await;
        let path = installed(world);
        let mut providers: Vec<&str> = world.providers().iter().map(e2e::Place::name).collect();
        providers.sort_unstable();
        let mut all: Vec<&str> = providers.iter().copied().chain([HOMER]).collect();
        all.sort_unstable();
        let (kind, namespace) = (trip.kind.plural, trip.scene.ns());
        let (begun, whole) = (format!("{kind}/"), format!("{kind}/item"));
        let accept = format!("default/{}", trip.accept);

        is_offered(trip, &path, &["drain", ""], &providers).await;
        is_offered(trip, &path, &["cordon", &trip.ariadne.name()[..2]], &[trip.ariadne.name()]).await;
        is_offered(trip, &path, &["trace", &whole, "--in", ""], &all).await;
        is_offered(trip, &path, &["drain", trip.ariadne.name(), "--acceptapi", &accept], &[&accept]).await;
        is_offered(trip, &path, &["objects", kind], &[kind]).await;
        is_offered(trip, &path, &["why", kind], &[&begun]).await;
        is_offered(trip, &path, &["why", "-n", namespace, &begun], &[&whole]).await;
        is_offered(trip, &path, &["why", "-n", "nowhere", &begun], &[]).await;
        is_offered(trip, &path, &["why", &whole, "-n", namespace], &[namespace]).await;
        is_offered(trip, &path, &["objects", "--sort-by", "namesp"], &["namespace"]).await;
        is_offered(trip, &path, &["objects", "--where", "namesp"], &["namespace="]).await;
        is_offered(trip, &path, &["objects", "--where=namespace=x", "--sort-by=namesp"], &["--sort-by=namespace"])
            .await;
    });
}
