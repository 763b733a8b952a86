//! Credentials are revoked and rotated while the broker runs.

use std::fs;

use e2e::{DEADLINE, Scene, Tally, kind::CERTIFICATE};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{PEACE, WORLD, available, cast, make_available, placed};

#[test]
fn a_revoked_token_is_replaced_without_a_restart() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, _, _, theseus] = cast(world);
        let scene = Scene::new(world, "rotated", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", placed).await;

        let tokens = world.lab.directory().join(theseus.cluster.name()).join("tokens.csv");
        let before = fs::read_to_string(&tokens).unwrap();
        let after: Vec<&str> = before.lines().filter(|line| !line.contains(",broker,broker,")).collect();
        assert!(after.len() < before.lines().count(), "the broker's token is revoked");
        fs::write(&tokens, after.join("\n")).unwrap();
        theseus.cluster.start_again().await.unwrap();

        let mut guard = world.broker().await;
        let broker = guard.as_mut().unwrap();
        let what = "the broker to say that its credentials are refused";
        let said = wait_for(DEADLINE, what, async || {
            let (code, body) = broker.health("/readyz").await?;
            // The end of the connections is told first (GOAWAY), and only the next request is refused.
            let refused = body
                .lines()
                .any(|line| line.starts_with("provider#theseus is unreachable") && line.contains("Unauthorized"));
            anyhow::ensure!(code == 200 && refused, "{code} {body}");
            Ok(body)
        });
        let said = said.await.unwrap();
        assert!(!said.contains(theseus.cluster.token("broker").unwrap()), "a token in {said}");
        let tally = Tally::begin([theseus]).await;
        let process = broker.process().id();
        let kubeconfig = broker.directory().join("provider/theseus.kubeconfig");
        theseus.cluster.write_kubeconfig("broker-2", &kubeconfig).unwrap();
        drop(guard);

        let wanted = scene.fqdn("edited");
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
        scene.copy_until(homer, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;
        make_available(theseus, &copy).await;
        scene.until(homer, "web", "its status", available).await;
        let requests = tally.requests().await;
        let writes = requests.writes().on("certificates").within(scene.ns());
        assert_eq!(writes.of("broker-2").words(), ["theseus patch certificates"], "{requests}");
        let log = {
            let mut guard = world.broker().await;
            let broker = guard.as_mut().unwrap();
            assert_eq!(broker.process().id(), process, "no restart");
            broker.log()
        };
        for user in ["broker", "broker-2"] {
            assert!(!log.contains(theseus.cluster.token(user).unwrap()), "a token in the log");
        }
        fs::write(&tokens, before).unwrap();
        theseus.cluster.start_again().await.unwrap();
    });
}
