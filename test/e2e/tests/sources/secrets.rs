//! Secrets of the coordination cluster with a role label.

use e2e::{
    Object, Scene, Tally, World,
    kind::{CERTIFICATE, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, PEACE, SECRETS, THESEUS, WORLD, placed, until_metric, until_said};

fn content(world: &World, name: &str, user: &str) -> Value {
    let place = if name == BART { world.consumer(BART) } else { world.provider(THESEUS) };
    json!({"kubeconfig": place.cluster.kubeconfig(user).unwrap()})
}

fn role(role: &str) -> Value {
    json!({"labels": {"broker.platform-mesh.io/role": role}})
}

#[test]
fn a_secret_comes_rotates_loses_its_label_and_goes() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "secrets", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        let body = json!({"metadata": role("provider"), "stringData": content(world, THESEUS, "broker")});
        world.hub.create(&SECRET, SECRETS, THESEUS, body).await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", placed).await;

        let tally = Tally::begin([theseus]).await;
        let rotated = json!({"stringData": content(world, THESEUS, "broker-2")});
        world.hub.edit(&SECRET, SECRETS, THESEUS, rotated).await;
        let connected = harness::wait_for(e2e::DEADLINE, "the new user to connect", async || {
            let requests = tally.requests().await.of("broker-2");
            if requests.0.iter().any(|request| request.event.verb == "watch") { Ok(()) } else { Err(requests) }
        });
        connected.await.unwrap();
        let wanted = scene.fqdn("edited");
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
        scene.copy_until(homer, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;

        let unlabelled = json!({"metadata": {"labels": {"broker.platform-mesh.io/role": null}}});
        world.hub.edit(&SECRET, SECRETS, THESEUS, unlabelled).await;
        let told = |seen: &Object| seen.has("Brokered", "False", "ProviderUnreachable");
        scene.until(homer, "web", "to say that its provider is not engaged", told).await;
        let kept = theseus.get(&CERTIFICATE, scene.ns(), copy.name()).await;
        assert!(kept.uid() == copy.uid() && !kept.is_deleting(), "{kept}");
        world.hub.edit(&SECRET, SECRETS, THESEUS, json!({"metadata": role("provider")})).await;
        scene.until(homer, "web", "to be served again", placed).await;
        world.hub.delete(&SECRET, SECRETS, THESEUS).await;
        until_metric(world, "resource_broker_clusters{role=\"provider\",state=\"Ready\"}", 1.0).await;
        assert!(theseus.find(&CERTIFICATE, scene.ns(), copy.name()).await.is_some(), "what is there stays");
    });
}

#[test]
fn a_secret_changes_its_role() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let (homer, bart, ariadne) = (world.consumer(HOMER), world.consumer(BART), world.provider(ARIADNE));
        let scene = Scene::new(world, "roles", &[homer, bart]).await;
        scene.accept(bart, Value::Null).await;
        let body = json!({"metadata": role("provider"), "stringData": content(world, BART, "broker")});
        world.hub.create(&SECRET, SECRETS, BART, body).await;
        scene.certificate(homer, "web").await;
        scene.copy(homer, "web", bart).await;

        // As a consumer its objects are served by others, and its AcceptAPIs count no more.
        world.hub.edit(&SECRET, SECRETS, BART, json!({"metadata": role("consumer")})).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(bart, "own").await;
        scene.copy(bart, "own", ariadne).await;
        scene.certificate(homer, "next").await;
        scene.copy(homer, "next", ariadne).await;
        world.hub.delete(&SECRET, SECRETS, BART).await;
        until_metric(world, "resource_broker_clusters{role=\"consumer\",state=\"Ready\"}", 1.0).await;
        let gone = until_said(world, &["ok"]).await;
        assert_eq!(gone, "ok");
    });
}
