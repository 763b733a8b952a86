//! Names that could meet: objects of one name from two consumers, and one as long as a name can be.

use e2e::{
    Kind, Place, Scene,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION},
    scene::ACCEPT_NAMESPACE,
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, TURN, WORLD, configure, trip, until_swept};

/// Waits for so many copies in the test's namespace of a provider, and brings them up.
async fn bring_up(provider: &Place, namespace: &str, count: usize) -> Vec<String> {
    let found = wait_for(e2e::DEADLINE, "all copies", async || {
        let copies = provider.list(&CERTIFICATE, namespace).await;
        if copies.len() == count { Ok(copies) } else { Err(copies.len()) }
    });
    let mut names = Vec::new();
    for copy in found.await.unwrap() {
        provider.set_status(&CERTIFICATE, namespace, copy.name(), json!({"status": "Available"})).await;
        names.push(copy.name().to_owned());
    }
    names
}

async fn until_none(place: &Place, kind: &Kind, namespace: &str) {
    let gone = wait_for(e2e::DEADLINE, "nothing to be left", async || {
        let left = place.list(kind, namespace).await;
        if left.is_empty() { Ok(()) } else { Err(left.len()) }
    });
    gone.await.unwrap();
}

#[test]
fn objects_of_one_name_from_two_consumers_and_of_the_longest_name_move_each_for_itself() {
    WORLD.run(async |world| {
        let _peace = trip::PEACE.read().await;
        let _turn = TURN.lock().await;
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus, hub) = (world.provider(ARIADNE), world.provider(THESEUS), &world.hub);
        let scene = Scene::new(world, "mig-names", &[homer, bart]).await;
        let longest = "n".repeat(253);
        let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"fqdn": "${to.spec.fqdn}"}});
        let stages = json!([{"name": "s".repeat(63), "progress": true, "templates": {"k".repeat(63): probe},
            "successConditions": ["true"]}]);
        configure(hub, "names", stages).await;
        let ready = |seen: &e2e::Object| seen.condition("Ready").is_some_and(|ready| ready.status == "True");
        hub.until(&MIGRATION_CONFIGURATION, "default", "names", "to be ready", ready).await;

        let accept = scene.accept(ariadne, Value::Null).await;
        for (consumer, name) in [(homer, "same"), (bart, "same"), (homer, longest.as_str())] {
            scene.certificate_for(consumer, name, &scene.fqdn("x")).await;
        }
        let names = bring_up(ariadne, scene.ns(), 3).await;
        assert!(names.iter().all(|name| name.len() <= 253), "{names:?}");
        scene.accept(theseus, Value::Null).await;
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
        assert_eq!(bring_up(theseus, scene.ns(), 3).await, names);

        let ended = wait_for(e2e::DEADLINE, "three Migrations to complete", async || {
            let all = hub.list(&MIGRATION, scene.ns()).await;
            let completed = all.iter().filter(|one| one.text("/status/state") == "CutoverCompleted").count();
            if completed == 3 { Ok(all) } else { Err(format!("{all:?}")) }
        });
        let migrations = ended.await.unwrap();
        until_none(ariadne, &CERTIFICATE, scene.ns()).await;
        for migration in &migrations {
            until_swept(hub, &CONFIG_MAP, scene.ns(), migration.text("/status/id")).await;
        }
        for (consumer, name) in [(homer, "same"), (bart, "same"), (homer, longest.as_str())] {
            let there =
                |seen: &e2e::Object| seen.text("/status/status") == "Available" && seen.condition("Moving").is_none();
            scene.until(consumer, name, "to be served by theseus", there).await;
        }
        hub.delete(&MIGRATION_CONFIGURATION, "default", "names").await;
    });
}
