//! Kubeconfigs that ask for more than their origin may, from Secrets and from files.

use std::{fs, os::unix::fs::PermissionsExt as _};

use e2e::{
    Broker, BrokerSetup, DEADLINE, World,
    kind::{SECRET, WIDGET},
};
use harness::wait_for;
use serde_json::json;

use crate::{SECRETS, WORLD, cast, unharmed};

/// A program that leaves a trace, and the trace.
fn program(world: &World, name: &str) -> (String, std::path::PathBuf) {
    let trace = world.lab.directory().join(format!("{name}.trace"));
    let path = world.lab.directory().join(name);
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": world.hub.cluster.token("broker").unwrap()},
    });
    fs::write(&path, format!("#!/bin/sh\ntouch {}\ncat <<'END'\n{credential}\nEND\n", trace.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (path.display().to_string(), trace)
}

fn with_user(kubeconfig: &str, token: &str, user: &str) -> String {
    kubeconfig.replace(&format!("    token: {token}"), user)
}

async fn rejected(broker: &Broker) -> u64 {
    let metrics = broker.metrics().await.unwrap();
    let line = metrics.lines().find(|line| line.starts_with("resource_broker_kubeconfigs_rejected "));
    line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("the metric")
}

#[test]
fn what_a_secret_may_not_ask_for() {
    WORLD.run(async |world| {
        let hub = &world.hub;
        let good = hub.cluster.kubeconfig("broker").unwrap();
        let token = hub.cluster.token("broker").unwrap();
        let (path, trace) = program(world, "exec-of-a-secret");
        let exec = format!(
            "    exec: {{apiVersion: client.authentication.k8s.io/v1, command: {path}, interactiveMode: Never}}"
        );
        let cases = [
            ("exec", with_user(&good, token, &exec), "exec"),
            ("auth-provider", with_user(&good, token, "    auth-provider: {name: oidc, config: {}}"), "auth-provider"),
            ("token-file", with_user(&good, token, "    tokenFile: /etc/hostname"), "tokenFile"),
            ("skip-tls", good.replace("server:", "insecure-skip-tls-verify: true\n    server:"), "skip-tls"),
            ("no-context", good.replace("current-context: hub", ""), "current-context"),
            ("metadata", good.replace(&hub.cluster.server_url(), "https://169.254.169.254"), "169.254.169.254"),
        ];
        for (name, text, word) in &cases {
            let body = json!({
                "metadata": {"labels": {"broker.platform-mesh.io/role": "provider"}},
                "stringData": {"kubeconfig": text},
            });
            hub.create(&SECRET, SECRETS, name, body).await;
            let told = hub.until_event(SECRETS, name, "KubeconfigRejected", |told| told.message.contains(word)).await;
            assert!(!told.message.contains(token), "a token in {told:?}");
            assert_eq!(told.status, "Warning", "{told:?}");
        }
        assert!(!trace.exists(), "nothing was started");
        let guard = world.broker().await;
        let broker = guard.as_ref().unwrap();
        let what = "the metric to count the Secrets";
        let counted = wait_for(DEADLINE, what, async || match rejected(broker).await {
            count if count == cases.len() as u64 => Ok(()),
            count => Err(format!("{count}")),
        });
        counted.await.unwrap();
        assert!(!broker.log().contains(token), "a token in the log");
        for (name, ..) in &cases {
            hub.delete(&SECRET, SECRETS, name).await;
        }
        let forgotten = wait_for(DEADLINE, "the metric to go down", async || rejected(broker).await == 0);
        forgotten.await.unwrap();
        drop(guard);
        unharmed(world).await;
    });
}

#[test]
fn what_a_file_needs_the_flag_for() {
    WORLD.run(async |world| {
        let [homer, ..] = cast(world);
        let good = homer.cluster.kubeconfig("broker").unwrap();
        let token = homer.cluster.token("broker").unwrap();
        let folder = world.lab.directory().join("local");
        fs::create_dir_all(&folder).unwrap();
        let insecure = good.replace("server:", "insecure-skip-tls-verify: true\n    server:");
        let insecure: String = insecure
            .lines()
            .filter(|line| !line.contains("certificate-authority-data"))
            .fold(String::new(), |text, line| text + line + "\n");
        fs::write(folder.join("token"), token).unwrap();
        fs::write(folder.join("insecure.kubeconfig"), with_user(&insecure, token, "    tokenFile: token")).unwrap();
        let directory = folder.display().to_string();
        for (name, flag) in [("wary-broker", None), ("trusting-broker", Some("--allow-local-credentials"))] {
            let mut args = vec!["--consumer-kubeconfig-dir".to_owned(), directory.clone()];
            args.extend(flag.map(str::to_owned));
            let setup =
                BrokerSetup { name, coordination: Some(&world.hub), kinds: &[WIDGET], args, ..BrokerSetup::default() };
            let mut broker = Broker::start(&world.lab, &setup).await;
            let what = "the kubeconfig to be refused, or used";
            let decided = wait_for(DEADLINE, what, async || {
                let log = broker.log();
                let refused = log.contains("insecure.kubeconfig") && log.contains("--allow-local-credentials");
                let used = log.contains("connected cluster=consumer#insecure");
                match (flag, refused, used) {
                    (None, true, false) | (Some(_), false, true) => Ok(()),
                    seen => Err(format!("{seen:?}\n{log}")),
                }
            });
            decided.await.unwrap();
            assert_eq!(rejected(&broker).await, u64::from(flag.is_none()));
            assert_eq!(broker.terminate().await, Some(0));
        }
    });
}
