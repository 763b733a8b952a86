//! A cluster that answers badly is not ready, and nobody else is held up by that.

use std::{path::Path, time::Duration};

use e2e::{
    Broker, BrokerSetup, Lie, Place,
    kind::{ACCEPT_API, CERTIFICATE},
    liar::{Liar, Part},
    world::place,
};
use harness::ClusterOptions;
use http::Method;
use serde_json::json;

use crate::WORLD;

/// Discovery of Certificates.
fn discovery() -> String {
    format!("/apis/{}", CERTIFICATE.api_version())
}

/// Their list.
fn certificates() -> String {
    format!("{}/{}", discovery(), CERTIFICATE.plural)
}

fn hang() -> Lie {
    Lie { code: 200, body: vec![Part::Hang] }
}

fn garbage() -> Lie {
    Lie { code: 200, body: vec![Part::Text("<html>".into())] }
}

/// Arguments that make brokers know them; what is common to all stands there once.
fn args(consumers: &[&Liar], providers: &[&Liar], folder: &Path) -> Vec<String> {
    let consumers = consumers.iter().flat_map(|liar| liar.args("consumer", folder));
    let providers = providers.iter().flat_map(|liar| liar.args("provider", folder));
    let mut all: Vec<String> = consumers.chain(providers).filter(|arg| arg != "--allow-local-credentials").collect();
    all.push("--allow-local-credentials".to_owned());
    all
}

async fn accept(place: &Place, name: &str) {
    place.create(&ACCEPT_API, "default", name, json!({"spec": {"gvr": CERTIFICATE.gvr()}})).await;
}

async fn until_used(place: &Place, name: &str) {
    place
        .until(&ACCEPT_API, "default", name, "it to be told that it is in use", |seen| {
            seen.has("Ready", "True", "Ready")
        })
        .await;
}

#[test]
fn clusters_whose_discovery_or_lists_fail_keep_nobody_else_from_being_ready() {
    WORLD.run(async |world| {
        let calm = place(&world.lab, "calm", &ClusterOptions::default(), &[CERTIFICATE, ACCEPT_API]).await;
        let liar = async |name: &str| Liar::start(name, &[CERTIFICATE]).await;
        let honest = liar("honest").await;
        let (forbidden, failing, mute, silent, listless, other) = tokio::join!(
            liar("forbidden"),
            liar("broken"),
            liar("rubbish"),
            liar("silent"),
            liar("listless"),
            liar("other-provider")
        );
        forbidden.on(&discovery(), Lie::status(403, "no"));
        failing.on(&discovery(), Lie::status(500, "no"));
        mute.on(&discovery(), garbage());
        silent.on(&discovery(), hang());
        listless.on(&certificates(), Lie::status(500, "no"));
        other.on(&discovery(), Lie::status(500, "no"));
        let bad = [&forbidden, &failing, &mute, &silent, &listless];
        let consumers: Vec<&Liar> = bad.iter().copied().chain([&honest]).collect();
        let setup = BrokerSetup {
            name: "ready",
            coordination: Some(&calm),
            providers: vec![&calm],
            kinds: &[CERTIFICATE],
            args: args(&consumers, &[&other], &world.lab.directory().join("ready-liars")),
            ..BrokerSetup::default()
        };
        accept(&calm, "in-use").await;
        let broker = Broker::start(&world.lab, &setup).await;
        let (_, told) = broker.health("/readyz").await.unwrap();
        for liar in bad.iter().copied().chain([&other]) {
            assert!(told.contains(liar.name()), "{} is not named: {told}", liar.name());
        }
        assert!(!told.contains("#honest"), "{told}");
        until_used(&calm, "in-use").await;
        let metrics = broker.metrics().await.unwrap();
        assert!(metrics.contains(r#"state="Lagging"} 5"#), "{metrics}");
        // Once it says what it should, it is like any other.
        forbidden.repent();
        let ready = harness::wait_for(e2e::DEADLINE, "the one that has become honest not to be named", async || {
            let (status, told) = broker.health("/readyz").await?;
            anyhow::ensure!(status == 200 && !told.contains("#forbidden"), "{status} {told}");
            anyhow::Ok(())
        });
        ready.await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn a_provider_that_does_not_answer_holds_up_no_other_providers_acceptapis() {
    WORLD.run(async |world| {
        let quick = place(&world.lab, "quick", &ClusterOptions::default(), &[CERTIFICATE, ACCEPT_API]).await;
        let honest = Liar::start("honest", &[CERTIFICATE]).await;
        // It has the same AcceptAPIs, and hangs where a status is written or a namespace is looked for.
        let slow = Liar::before("slow", &quick).await;
        let identity =
            json!({"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "slow", "resourceVersion": "1"}});
        slow.on("/api/v1/namespaces/kube-system", Lie::json(&identity));
        slow.on("/api/v1/namespaces", hang());
        slow.rule(|asked| (asked.method == Method::PATCH).then(hang));
        let setup = BrokerSetup {
            name: "slow",
            coordination: Some(&quick),
            providers: vec![&quick],
            kinds: &[CERTIFICATE],
            args: args(&[&honest], &[&slow], &world.lab.directory().join("slow-liars")),
            ..BrokerSetup::default()
        };
        let _broker = Broker::start(&world.lab, &setup).await;
        let started = std::time::Instant::now();
        for round in 0..4 {
            let name = format!("round-{round}");
            accept(&quick, &name).await;
            until_used(&quick, &name).await;
        }
        // A request that hangs is given up after 10 s, and each round of the slow one has several.
        assert!(started.elapsed() < Duration::from_secs(20), "statuses came only after {:?}", started.elapsed());
    });
}
