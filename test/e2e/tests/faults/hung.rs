//! A provider hangs: its connections stay open and nothing answers. Only its own objects wait.

use std::time::Duration;

use e2e::{Scene, kind::CERTIFICATE};
use futures::future::join_all;
use serde_json::json;

use crate::{PEACE, WORLD, available, cast, make_available, placed};

/// More than the writes that are under way at once to one cluster.
const STUCK: usize = 30;

#[test]
fn a_hung_provider_holds_only_its_own_objects() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, bart, ariadne, theseus] = cast(world);
        let scene = Scene::new(world, "hung", &[homer, bart]).await;
        scene.accept(theseus, json!({"filters": [{"key": "fqdn", "prefix": "stuck-"}]})).await;
        scene.accept(ariadne, json!({"filters": [{"key": "fqdn", "prefix": "free-"}]})).await;
        let names: Vec<String> = (0..STUCK).map(|at| format!("stuck-{at}")).collect();
        join_all(names.iter().map(async |name| {
            scene.certificate(homer, name).await;
            scene.copy(homer, name, theseus).await;
            scene.until(homer, name, "to be placed", placed).await;
        }))
        .await;

        theseus.cluster.pause().await.unwrap();
        let wanted = |name: &str| scene.fqdn(&format!("{name}-edited"));
        join_all(
            names
                .iter()
                .map(|name| homer.edit(&CERTIFICATE, scene.ns(), name, json!({"spec": {"fqdn": wanted(name)}}))),
        )
        .await;
        for round in 0..3 {
            for consumer in [homer, bart] {
                let name = format!("free-{round}");
                scene.certificate(consumer, &name).await;
                let copy = scene.copy(consumer, &name, ariadne).await;
                make_available(ariadne, &copy).await;
                scene.until(consumer, &name, "its status", available).await;
            }
        }
        // All of that happened while the provider hung, also the end of this process.
        let mut guard = world.broker().await;
        let broker = guard.as_mut().unwrap();
        let ended = broker.process().terminate(Duration::from_secs(5)).await.unwrap();
        assert_eq!(ended.code(), Some(0), "SIGTERM with a hung provider: {}", broker.last_lines(20));
        theseus.cluster.resume().unwrap();
        broker.start_again(&world.lab).await;
        drop(guard);
        join_all(names.iter().map(async |name| {
            scene.copy_until(homer, name, theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted(name)).await
        }))
        .await;
        scene.clear(&CERTIFICATE, &[homer, bart]).await;
    });
}
