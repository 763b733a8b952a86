//! Which provider gets an object, and that it stays there.

use broker_api::keys;
use e2e::{
    Object, Place, Scene,
    kind::{ACCEPT_API, CERTIFICATE, VM},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, WORLD};

/// The provider that an object is assigned to, once it is.
async fn provider_of(scene: &Scene<'_>, consumer: &Place, name: &str) -> String {
    let assigned = |seen: &Object| seen.annotation(keys::PROVIDER_CLUSTER).is_some();
    let origin = scene.until(consumer, name, "to be assigned", assigned).await;
    origin.annotation(keys::PROVIDER_CLUSTER).unwrap().to_owned()
}

fn memory(size: i64) -> [Value; 1] {
    [json!({"key": "memory", "valueIn": [size.to_string()]})]
}

/// A VM of a size that only this test's AcceptAPIs take.
async fn vm(scene: &Scene<'_>, consumer: &Place, name: &str, size: i64) {
    consumer.create(&VM, scene.ns(), name, json!({"spec": {"memory": size}})).await;
}

#[test]
fn the_highest_priority_wins() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "place-priority", &[homer]).await;
        scene.accept(ariadne, json!({"weight": 1_000_000})).await;
        scene.accept(theseus, json!({"priority": 1})).await;
        scene.barrier(homer, ariadne).await;
        scene.barrier(homer, theseus).await;
        for name in ["a", "b", "c", "d", "e", "f"] {
            scene.certificate(homer, name).await;
        }
        for name in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(provider_of(&scene, homer, name).await, THESEUS, "{name}");
            scene.copy(homer, name, theseus).await;
            assert!(scene.find_copy(homer, name, ariadne).await.is_none());
        }
    });
}

#[test]
fn equal_ones_share_the_objects_each_object_is_in_one_place() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "place-spread", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.accept(theseus, Value::Null).await;
        scene.barrier(homer, ariadne).await;
        scene.barrier(homer, theseus).await;
        let names: Vec<String> = (0..24).map(|number| format!("n{number}")).collect();
        for name in &names {
            scene.certificate(homer, name).await;
        }
        let mut at_ariadne = 0;
        for name in &names {
            let provider = provider_of(&scene, homer, name).await;
            let (here, there) = if provider == ARIADNE { (ariadne, theseus) } else { (theseus, ariadne) };
            scene.copy(homer, name, here).await;
            assert!(scene.find_copy(homer, name, there).await.is_none(), "{name} is in two places");
            at_ariadne += usize::from(provider == ARIADNE);
        }
        // That all 24 go one way by chance happens once in eight million runs.
        assert!((1..24).contains(&at_ariadne), "{at_ariadne} of 24 at {ARIADNE}");
    });
}

#[test]
fn an_object_stays_while_its_provider_accepts_it() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "place-stays", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        let origin = scene.until(homer, "www", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
        scene.accept(theseus, json!({"priority": 100})).await;
        scene.barrier(homer, theseus).await;
        // New ones go there, the old one was not even written to.
        scene.certificate(homer, "new").await;
        assert_eq!(provider_of(&scene, homer, "new").await, THESEUS);
        assert_eq!(homer.get(&CERTIFICATE, scene.ns(), "www").await.version(), origin.version());
        assert_eq!(scene.copy(homer, "www", ariadne).await.version(), copy.version());
        // Nor does an edit move it.
        homer.edit(&CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("edited")}})).await;
        let edited = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("edited");
        scene.copy_until(homer, "www", ariadne, "the edit", edited).await;
        assert!(scene.find_copy(homer, "www", theseus).await.is_none());
    });
}

#[test]
fn a_full_accept_api_takes_no_more_until_one_leaves() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "place-capacity", &[homer]).await;
        let size = 500_001;
        let first = scene.accept_kind(&VM, ariadne, &memory(size), json!({"capacity": 2, "priority": 1})).await;
        scene.accept_kind(&VM, theseus, &memory(size), json!({"capacity": 1})).await;
        scene.barrier(homer, ariadne).await;
        scene.barrier(homer, theseus).await;
        for name in ["a", "b", "c", "d"] {
            vm(&scene, homer, name, size).await;
        }
        // All at once, and still: two in the first, one in the second, one waits.
        let full = format!("{first}: is full (capacity 2)");
        let is_waiting = |seen: &Object| {
            let told = seen.condition("Brokered").unwrap_or_else(|| e2e::Told {
                status: String::new(),
                reason: String::new(),
                message: String::new(),
            });
            told.reason == "NoProvider" && told.message.contains(&full)
        };
        let mut waiting = Vec::new();
        let mut placed = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let settled = |seen: &Object| is_waiting(seen) || seen.has("Brokered", "True", "Placed");
            let origin = homer.until(&VM, scene.ns(), name, "a place or none", settled).await;
            match origin.annotation(keys::PROVIDER_CLUSTER) {
                None => waiting.push(name),
                Some(provider) => placed.push((name, provider.to_owned())),
            }
        }
        let at = |provider: &str| placed.iter().filter(|(_, at)| at == provider).count();
        assert_eq!((at(ARIADNE), at(THESEUS), waiting.len()), (2, 1, 1), "{placed:?} {waiting:?}");
        assert_eq!(ariadne.list(&VM, scene.ns()).await.len(), 2);

        // Room is made: the one that waits gets it.
        let (leaver, _) = placed.iter().find(|(_, at)| at == ARIADNE).unwrap();
        homer.delete(&VM, scene.ns(), leaver).await;
        ariadne.until_there(&VM, scene.ns(), &homer.copy_name(waiting[0])).await;
        // More room takes in more.
        vm(&scene, homer, "e", size).await;
        homer.until(&VM, scene.ns(), "e", "to wait", is_waiting).await;
        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &first, json!({"spec": {"capacity": 3}})).await;
        ariadne.until_there(&VM, scene.ns(), &homer.copy_name("e")).await;
        // Less room sends nobody away.
        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &first, json!({"spec": {"capacity": 0}})).await;
        scene.barrier(homer, ariadne).await;
        assert_eq!(ariadne.list(&VM, scene.ns()).await.len(), 3);
    });
}

#[test]
fn a_cordoned_accept_api_takes_no_new_objects_and_keeps_those_it_has() {
    WORLD.run(async |world| {
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "place-cordoned", &[homer]).await;
        let size = 500_002;
        let accept = scene.accept_kind(&VM, ariadne, &memory(size), Value::Null).await;
        vm(&scene, homer, "before", size).await;
        let copy = ariadne.until_there(&VM, scene.ns(), &homer.copy_name("before")).await;
        homer.until(&VM, scene.ns(), "before", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;

        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, json!({"spec": {"cordoned": true}})).await;
        scene.barrier(homer, ariadne).await;
        vm(&scene, homer, "after", size).await;
        let told = |seen: &Object| {
            seen.condition("Brokered").is_some_and(|told| told.message.contains(&format!("{accept}: is cordoned")))
        };
        homer.until(&VM, scene.ns(), "after", "to be told of the cordon", told).await;
        let kept = ariadne.get(&VM, scene.ns(), copy.name()).await;
        assert_eq!((kept.version(), kept.is_deleting()), (copy.version(), false));
        // It still serves what it holds.
        ariadne.set_status(&VM, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        homer.until(&VM, scene.ns(), "before", "its status", |seen| seen.text("/status/status") == "Available").await;

        // Another provider takes the one that waits; uncordoned, the first is in use again.
        let other = scene.accept_kind(&VM, theseus, &memory(size), Value::Null).await;
        theseus.until_there(&VM, scene.ns(), &homer.copy_name("after")).await;
        theseus.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &other, json!({"spec": {"cordoned": true}})).await;
        scene.barrier(homer, theseus).await;
        vm(&scene, homer, "third", size).await;
        homer.until(&VM, scene.ns(), "third", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, json!({"spec": {"cordoned": false}})).await;
        ariadne.until_there(&VM, scene.ns(), &homer.copy_name("third")).await;
    });
}
