//! Nothing is asked for when nothing changes, and nothing is written after a restart.

use std::time::Duration;

use broker_api::keys;
use e2e::{
    DEADLINE, Object, Scene, Tally, World,
    kind::{CERTIFICATE, NAMESPACE, SECRET},
    until_quiet,
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{ALONE, GADGET, HOMER, THESEUS, WORLD, places, until_placed};

/// How long nothing may be asked for.
const IDLE: Duration = Duration::from_secs(15);

/// Discovery looks at a CRD for the last time about 5 s after it changed.
const QUIET: Duration = Duration::from_secs(6);

/// A restarted broker has written what it has to write when it has asked for nothing for so long.
const SETTLED: Duration = Duration::from_millis(2500);

/// Place, kind, name and resource version of all objects of [`populate`].
async fn versions(world: &World, scene: &Scene<'_>) -> Vec<String> {
    let mut versions = Vec::new();
    for place in [world.consumer(HOMER), world.provider(THESEUS)] {
        for kind in [CERTIFICATE, GADGET, SECRET] {
            let objects = place.list(&kind, scene.ns()).await;
            versions.extend(
                objects
                    .iter()
                    .map(|object| format!("{} {} {} {}", place.name(), kind.kind, object.name(), object.version())),
            );
        }
    }
    versions
}

/// Placed objects with related Secrets; one that waits; fields that the provider defaults and prunes, and that the
/// consumer's status prunes and defaults; fields, labels and lists that others own at the provider.
async fn populate(world: &World, scene: &Scene<'_>) {
    let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
    let accept = scene.accept(theseus, Value::Null).await;
    for name in ["one", "two", "three"] {
        scene.certificate(homer, name).await;
        let copy = scene.copy(homer, name, theseus).await;
        let secret = format!("{}-tls", copy.name());
        theseus.create(&SECRET, scene.ns(), &secret, json!({"stringData": {"key": name}})).await;
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "Issued", "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let related = json!({"tls": {"gvk": SECRET.gvk(), "name": secret}});
        let status = json!({"status": "Available", "conditions": [ready], "relatedResources": related});
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), status).await;
        homer.until_there(&SECRET, scene.ns(), &format!("{name}-tls")).await;
        scene.until(homer, name, "its status", |seen| seen.has("Ready", "True", "Issued")).await;
    }
    scene.certificate_for(homer, "waits", "nobody.takes.this").await;
    scene.until(homer, "waits", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;

    let gadgets = scene.accept_kind(&GADGET, theseus, &[], json!({"expression": "self.spec.color == 'red'"})).await;
    let spec = json!({"color": "red", "secretly": "unknown to the provider", "ports": [{"port": 80}, {"port": 443}]});
    homer.create(&GADGET, scene.ns(), "gadget", json!({"spec": spec})).await;
    let name = homer.copy_name("gadget");
    let copy = theseus.until_there(&GADGET, scene.ns(), &name).await;
    assert_eq!(copy.at("/spec/tier"), "gold", "the provider defaults it");
    assert!(copy.at("/spec/secretly").is_null(), "the provider does not know it");
    let theirs = json!({"spec": {"zone": "eu"}, "metadata": {"labels": {"team": "a"}, "annotations": {"note": "n"}}});
    theseus.edit(&GADGET, scene.ns(), &name, theirs).await;
    let status = json!({"phase": "Up", "internal": "unknown to the consumer"});
    theseus.set_status(&GADGET, scene.ns(), &name, status).await;
    let shown = |seen: &Object| seen.text("/status/phase") == "Up" && seen.text("/status/shade") == "plain";
    homer.until(&GADGET, scene.ns(), "gadget", "its status", shown).await;
    tokio::join!(until_placed(theseus, &accept, 3), until_placed(theseus, &gadgets, 1));
}

#[test]
fn nothing_is_asked_when_idle_and_nothing_written_after_a_restart() {
    WORLD.run(async |world| {
        let _alone = ALONE.write().await;
        let homer = world.consumer(HOMER);
        let scene = Scene::new(world, "idle", &[homer]).await;
        populate(world, &scene).await;
        // Namespaces that other tests have left empty are looked at, and removed, half a minute later.
        let left = async || {
            let provider = world.provider(THESEUS);
            let mut left = Vec::new();
            for namespace in provider.list(&NAMESPACE, "").await {
                let is_ours = namespace.label(keys::MANAGED_BY).is_some() && namespace.name() != scene.ns();
                if is_ours && provider.list(&CERTIFICATE, namespace.name()).await.is_empty() {
                    left.push(namespace.name().to_owned());
                }
            }
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        };
        wait_for(DEADLINE * 4, "namespaces without copies to go", left)
            .await
            .unwrap_or_else(|error| panic!("{error:#}"));
        until_quiet(&places(world), QUIET).await;
        let before = versions(world, &scene).await;

        let tally = Tally::begin(places(world)).await;
        tokio::time::sleep(IDLE).await;
        let requests = tally.requests().await;
        assert!(requests.0.is_empty(), "in {IDLE:?} with nothing to do: {requests}");

        for way in ["SIGTERM", "SIGKILL"] {
            let tally = Tally::begin(places(world)).await;
            {
                let mut broker = world.broker().await;
                let broker = broker.as_mut().unwrap();
                match way {
                    "SIGTERM" => assert_eq!(broker.terminate().await, Some(0), "{}", broker.last_lines(20)),
                    _ => broker.kill(),
                }
                broker.start_again(&world.lab).await;
            }
            until_quiet(&places(world), SETTLED).await;
            let requests = tally.requests().await;
            assert!(!requests.reads().0.is_empty(), "the broker read its clusters after {way}");
            assert_eq!(requests.writes().words(), Vec::<String>::new(), "after {way}: {requests:?}");
            assert_eq!(requests.events().words(), Vec::<String>::new(), "Events after {way}: {requests:?}");
        }
        assert_eq!(versions(world, &scene).await, before, "no object was touched");
    });
}
