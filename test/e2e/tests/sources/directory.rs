//! Directories of kubeconfig files.

use std::fs;

use e2e::{Object, Scene, Tally, kind::CERTIFICATE};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, PEACE, PROVIDER, THESEUS, WORLD, engage, file, placed, until_metric, until_said};

#[test]
fn a_file_comes_goes_and_comes_again() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let (homer, theseus, ariadne) = (world.consumer(HOMER), world.provider(THESEUS), world.provider(ARIADNE));
        let scene = Scene::new(world, "files", &[homer]).await;
        scene.accept(theseus, json!({"priority": 1})).await;
        scene.certificate(homer, "web").await;
        scene.until(homer, "web", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        engage(world, "provider", theseus, THESEUS, "broker");
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", placed).await;

        // Its cluster is taken out of the configuration: nothing there is touched, nothing moves, the object says so.
        scene.accept(ariadne, Value::Null).await;
        fs::remove_file(file(world, "provider", THESEUS)).unwrap();
        let told = |seen: &Object| {
            seen.has("Brokered", "False", "ProviderUnreachable")
                && seen.condition("Brokered").unwrap().message.contains("not engaged")
        };
        let held = scene.until(homer, "web", "to say that its provider is not engaged", told).await;
        assert_eq!(held.annotation(PROVIDER), Some(THESEUS), "{held}");
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        scene.certificate(homer, "other").await;
        scene.copy(homer, "other", ariadne).await;
        let kept = theseus.get(&CERTIFICATE, scene.ns(), copy.name()).await;
        assert!(kept.uid() == copy.uid() && !kept.is_deleting(), "{kept}");
        assert!(scene.find_copy(homer, "web", ariadne).await.is_none(), "nothing moves");

        engage(world, "provider", theseus, THESEUS, "broker");
        let back = |seen: &Object| placed(seen) && seen.text("/status/status") == "Available";
        scene.until(homer, "web", "the status that came meanwhile", back).await;
        fs::remove_file(file(world, "provider", THESEUS)).unwrap();
        until_metric(world, "resource_broker_clusters{role=\"provider\",state=\"Ready\"}", 1.0).await;
    });
}

#[test]
fn a_file_is_replaced_and_a_broken_one_changes_nothing() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "replaced", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "web").await;
        scene.copy(homer, "web", ariadne).await;
        let path = file(world, "provider", ARIADNE);
        let process = world.broker().await.as_mut().unwrap().process().id();

        fs::write(&path, "no: kubeconfig").unwrap();
        until_metric(world, "resource_broker_kubeconfigs_rejected", 1.0).await;
        let log = world.broker().await.as_ref().unwrap().log();
        assert!(log.contains("this kubeconfig cannot be used") && log.contains(&path.display().to_string()), "{log}");
        let first = scene.fqdn("first");
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": first}})).await;
        scene.copy_until(homer, "web", ariadne, "the edit", |seen| seen.text("/spec/fqdn") == first).await;

        let tally = Tally::begin([ariadne]).await;
        engage(world, "provider", ariadne, ARIADNE, "broker-2");
        until_metric(world, "resource_broker_kubeconfigs_rejected", 0.0).await;
        let connected = harness::wait_for(e2e::DEADLINE, "the new user to connect", async || {
            let requests = tally.requests().await.of("broker-2");
            if requests.0.iter().any(|request| request.event.verb == "watch") { Ok(()) } else { Err(requests) }
        });
        connected.await.unwrap();
        let second = scene.fqdn("second");
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": second}})).await;
        scene.copy_until(homer, "web", ariadne, "the edit", |seen| seen.text("/spec/fqdn") == second).await;
        let requests = tally.requests().await.writes().on("certificates").within(scene.ns());
        assert_eq!(requests.of("broker-2").words(), ["ariadne patch certificates"], "{requests}");
        assert_eq!(requests.of("broker").0.len(), 0, "{requests}");
        assert_eq!(world.broker().await.as_mut().unwrap().process().id(), process, "no restart");
        engage(world, "provider", ariadne, ARIADNE, "broker");
    });
}

#[test]
fn one_api_server_under_two_names_is_refused() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "two-names", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        engage(world, "consumer", homer, "simpson", "broker");
        let said = until_said(world, &["consumer#simpson", "consumer#homer"]).await;
        assert!(said.contains("remove one of the two"), "{said}");
        let log = world.broker().await.as_ref().unwrap().log();
        let told = |line: &str| line.contains("consumer#simpson") && line.contains("already engaged as consumer#homer");
        assert!(log.lines().any(told), "{log}");
        scene.certificate(homer, "web").await;
        scene.copy(homer, "web", ariadne).await;
        assert_eq!(ariadne.list(&CERTIFICATE, scene.ns()).await.len(), 1, "served once");

        // The same server as a provider is another matter.
        fs::remove_file(file(world, "consumer", "simpson")).unwrap();
        scene.until(homer, "web", "to be placed", placed).await;
        until_metric(world, "resource_broker_clusters{role=\"consumer\",state=\"Ready\"}", 1.0).await;
    });
}
