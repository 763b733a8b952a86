//! Many objects at once: other tenants get their turn, and SIGTERM ends the process in time.

use std::time::Duration;

use e2e::{Place, Scene, kind::CERTIFICATE};
use futures::{StreamExt as _, stream};
use harness::wait_for;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, placed};

/// Objects of one tenant that become dirty at once.
const FLOOD: usize = 500;
/// Objects that are being placed when the broker is told to end.
const LOAD: usize = 150;
/// How long all of a flood may take.
const LONG: Duration = Duration::from_mins(2);

async fn create_many(scene: &Scene<'_>, consumer: &Place, count: usize) {
    let creates = (0..count).map(async |at| {
        scene.certificate(consumer, &format!("many-{at}")).await;
    });
    stream::iter(creates).buffer_unordered(32).collect::<Vec<()>>().await;
}

async fn count_copies(place: &Place, namespace: &str) -> usize {
    let listed = place.api(&CERTIFICATE, namespace).list_metadata(&ListParams::default()).await;
    listed.map_or(0, |listed| listed.items.len())
}

async fn until_copied(place: &Place, namespace: &str, count: usize) {
    let what = format!("{count} copies in {namespace} at {}", place.name());
    let waited = wait_for(LONG, &what, async || match count_copies(place, namespace).await {
        found if found >= count => Ok(()),
        found => Err(format!("{found}")),
    });
    waited.await.unwrap();
}

#[test]
fn a_flood_of_one_tenant_does_not_hold_up_another() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, bart, _, theseus] = cast(world);
        let flood = Scene::new(world, "flood", &[homer]).await;
        let calm = Scene::new(world, "calm", &[bart]).await;
        calm.accept(theseus, Value::Null).await;
        calm.certificate(bart, "web").await;
        calm.until(bart, "web", "to be placed", placed).await;
        create_many(&flood, homer, FLOOD).await;

        // Now all of them are dirty at once.
        flood.accept(theseus, Value::Null).await;
        until_copied(theseus, flood.ns(), 1).await;
        let wanted = calm.fqdn("edited");
        bart.edit(&CERTIFICATE, calm.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
        calm.copy_until(bart, "web", theseus, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;
        let done = count_copies(theseus, flood.ns()).await;
        assert!(done < FLOOD, "the other tenant's edit waited for the end of the flood");
        println!("the other tenant's edit arrived when {done} of {FLOOD} were done");
        until_copied(theseus, flood.ns(), FLOOD).await;
        flood.clear(&CERTIFICATE, &[homer]).await;
    });
}

#[test]
fn sigterm_under_load_ends_in_time_and_loses_nothing() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, _, _, theseus] = cast(world);
        let scene = Scene::new(world, "terminated", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        let mut guard = world.broker().await;
        let broker = guard.as_mut().unwrap();
        let terminate = async {
            until_copied(theseus, scene.ns(), 20).await;
            // The span is the requirement.
            broker.process().terminate(Duration::from_secs(5)).await.unwrap()
        };
        let ((), ended) = tokio::join!(create_many(&scene, homer, LOAD), terminate);
        assert_eq!(ended.code(), Some(0), "{}", broker.last_lines(20));
        assert!(count_copies(theseus, scene.ns()).await < LOAD, "it ended under load");
        broker.start_again(&world.lab).await;
        drop(guard);
        until_copied(theseus, scene.ns(), LOAD).await;
        scene.clear(&CERTIFICATE, &[homer]).await;
    });
}
