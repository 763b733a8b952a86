//! What the command line names cannot be used: the process ends at once and says what to do.

use std::{fs, process::Stdio, time::Duration};

use e2e::{
    Broker, BrokerSetup, World,
    kind::{CERTIFICATE, WIDGET},
};
use harness::{free_address, wait_for};
use tokio::process::Command;

use crate::{WORLD, cast};

/// How long a process that cannot work may run.
const SOON: Duration = Duration::from_secs(20);

/// Runs a broker that must end by itself: its exit code and what it said.
async fn ended(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(harness::broker_binary().unwrap());
    command.args(["--health-probe-bind-address", &free_address().unwrap()]).args(args);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).env_remove("KUBECONFIG").output();
    let output = tokio::time::timeout(SOON, output).await.expect("it ends by itself").unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[track_caller]
fn refused((code, said): (Option<i32>, String), words: &[&str]) {
    assert!(code.is_some_and(|code| code != 0), "exit code {code:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

fn hub_kubeconfig(world: &World) -> String {
    let path = world.lab.directory().join("hub.kubeconfig");
    world.hub.cluster.write_kubeconfig("broker", &path).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_malformed_watch_kind() {
    for kind in ["", "Certificate", "certificates.v1.example.com", "Certificate.1.example.com", "A.v1.x..y"] {
        refused(ended(&["--watch-kind", kind]).await, &["--watch-kind", "Kind.version.group"]);
    }
    refused(ended(&[]).await, &["--watch-kind"]);
    refused(ended(&["-watch-kind=certificates"]).await, &["--watch-kind", "Kind.version.group"]);
    let of_another = ["-watch-kind=Certificate.v1alpha1.example.com", "-zap-devel=true", "-kcp-kubeconfig=/kcp"];
    refused(ended(&of_another).await, &["unexpected argument '--kcp-kubeconfig'"]);
    let related = ["--watch-kind", "Certificate.v1alpha1.example.com", "--related-kind", "secrets"];
    refused(ended(&related).await, &["--related-kind", "secrets", "Kind.version.group"]);
}

#[test]
fn paths_that_do_not_exist_or_are_no_files() {
    WORLD.run(async |world| {
        let hub = hub_kubeconfig(world);
        let kind = CERTIFICATE.flag();
        let absent = world.lab.directory().join("absent.kubeconfig").display().to_string();
        let folder = world.lab.directory().display().to_string();
        let with = |args: [&'static str; 1], path: &str| vec![args[0].to_owned(), path.to_owned()];
        for (more, words) in [
            (with(["--consumer-kubeconfig"], &absent), vec![absent.as_str()]),
            (with(["--provider-kubeconfig-dir"], &absent), vec![absent.as_str()]),
            (with(["--provider-kubeconfig"], &folder), vec![folder.as_str(), "--provider-kubeconfig-dir"]),
        ] {
            let mut args = vec!["--coordination-kubeconfig", &hub, "--watch-kind", &kind];
            args.extend(more.iter().map(String::as_str));
            refused(ended(&args).await, &words);
        }
        let args = ["--coordination-kubeconfig", &absent, "--watch-kind", &kind];
        refused(ended(&args).await, &[&absent, "coordination"]);
        refused(ended(&["--watch-kind", &kind]).await, &["--coordination-kubeconfig"]);
    });
}

#[test]
fn two_files_of_one_name() {
    WORLD.run(async |world| {
        let [homer, ..] = cast(world);
        let hub = hub_kubeconfig(world);
        let paths = ["left", "right"].map(|folder| {
            let folder = world.lab.directory().join("twice").join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join("homer.kubeconfig");
            homer.cluster.write_kubeconfig("broker", &path).unwrap();
            path.display().to_string()
        });
        let list = paths.join(",");
        let kind = CERTIFICATE.flag();
        let args = ["--coordination-kubeconfig", &hub, "--watch-kind", &kind, "--consumer-kubeconfig", &list];
        refused(ended(&args).await, &[&paths[0], &paths[1], "consumer#homer", "rename"]);
    });
}

#[test]
fn a_coordination_kubeconfig_that_cannot_be_used() {
    WORLD.run(async |world| {
        let kind = CERTIFICATE.flag();
        let good = world.hub.cluster.kubeconfig("broker").unwrap();
        let token = world.hub.cluster.token("broker").unwrap();
        for (name, text, word) in [
            ("no-context", good.replace("current-context: hub", ""), "current-context"),
            ("other-context", good.replace("current-context: hub", "current-context: gone"), "gone"),
            ("no-yaml", "}{".to_owned(), "YAML"),
            (
                "skip-tls",
                good.replace("server:", "insecure-skip-tls-verify: true\n    server:"),
                "--allow-local-credentials",
            ),
        ] {
            let path = world.lab.directory().join(format!("{name}.kubeconfig"));
            fs::write(&path, text).unwrap();
            let path = path.display().to_string();
            let (code, said) = ended(&["--coordination-kubeconfig", &path, "--watch-kind", &kind]).await;
            assert!(!said.contains(token), "a token in {said}");
            refused((code, said), &[&path, word]);
        }
    });
}

#[test]
fn an_empty_directory_and_an_address_in_use() {
    WORLD.run(async |world| {
        let empty = world.lab.directory().join("empty");
        fs::create_dir_all(&empty).unwrap();
        // Kinds that the other broker does not take, in a hub that both use.
        let setup = BrokerSetup {
            name: "empty-broker",
            coordination: Some(&world.hub),
            kinds: &[WIDGET],
            args: vec!["--consumer-kubeconfig-dir".to_owned(), empty.display().to_string()],
            ..BrokerSetup::default()
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        let log = broker.log();
        assert!(log.contains(&empty.display().to_string()) && log.contains("waiting"), "it says so: {log}");

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let taken = listener.local_addr().unwrap().to_string();
        let hub = hub_kubeconfig(world);
        let kind = CERTIFICATE.flag();
        let args = ["--coordination-kubeconfig", &hub, "--watch-kind", &kind, "--metrics-bind-address", &taken];
        refused(ended(&args).await, &[&taken]);
        let running = wait_for(SOON, "the first to be ready", async || broker.health("/readyz").await).await.unwrap();
        assert_eq!(running.0, 200, "{}", running.1);
        assert_eq!(broker.terminate().await, Some(0));
    });
}
