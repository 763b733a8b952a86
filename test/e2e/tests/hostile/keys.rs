//! A signing key that is lost is not made anew silently.

use broker_api::keys::{ASSIGNMENT, SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET};
use e2e::{
    Broker, BrokerSetup, DEADLINE, Kind, Object, Place, Scene, World,
    kind::{ACCEPT_API, SECRET},
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{HOMER, HUB, WORLD};

/// A kind of a broker whose key is deleted.
const KEYED: Kind = Kind::test("Keyed", "keyeds");
/// A kind of a broker whose key is lost for good.
const LOST: Kind = Kind::test("Lost", "losts");

const OBJECTS: usize = 4;

/// A broker of its own, with its keys in a namespace of its own, whose provider is the hub.
async fn setup<'a>(world: &'a World, name: &'a str, kind: &'a Kind) -> BrokerSetup<'a> {
    let homer = world.consumer(HOMER);
    homer.apply(&kind.crd().to_string()).await;
    world.hub.apply(&format!("{}\n---\n{}", kind.crd(), ACCEPT_API.crd())).await;
    world.hub.make_namespace(name).await;
    BrokerSetup {
        name,
        coordination: Some(&world.hub),
        consumers: vec![homer],
        providers: vec![&world.hub],
        kinds: std::slice::from_ref(kind),
        args: crate::arguments(&["--namespace", name]),
        ..BrokerSetup::default()
    }
}

/// Some objects and their copies.
async fn serve(scene: &Scene<'_>, kind: &Kind) {
    let hub = &scene.world.hub;
    let any = json!({"key": "scene", "valueIn": [scene.name]});
    scene.accept_kind(kind, hub, &[any], Value::Null).await;
    for number in 0..OBJECTS {
        make(scene, kind, &format!("o{number}")).await;
    }
    for number in 0..OBJECTS {
        served(scene, kind, &format!("o{number}")).await;
    }
}

async fn make(scene: &Scene<'_>, kind: &Kind, name: &str) {
    let body = json!({"spec": {"scene": scene.name}});
    scene.world.consumer(HOMER).create(kind, scene.ns(), name, body).await;
}

async fn served(scene: &Scene<'_>, kind: &Kind, name: &str) -> Object {
    let homer = scene.world.consumer(HOMER);
    let copy = scene.world.hub.until_there(kind, scene.ns(), &homer.copy_name(name)).await;
    homer.until(kind, scene.ns(), name, "to be served", |seen| seen.has("Brokered", "True", "Placed")).await;
    copy
}

/// What must stay: each object's assignment, and the uid of its copy.
async fn standing(scene: &Scene<'_>, kind: &Kind) -> Vec<(String, String)> {
    let homer = scene.world.consumer(HOMER);
    let mut standing = Vec::new();
    for number in 0..OBJECTS {
        let name = format!("o{number}");
        let origin = homer.get(kind, scene.ns(), &name).await;
        let copy = scene.world.hub.get(kind, scene.ns(), &homer.copy_name(&name)).await;
        standing.push((origin.annotation(ASSIGNMENT).unwrap_or_default().to_owned(), copy.uid().to_owned()));
    }
    standing
}

async fn secret_until(hub: &Place, namespace: &str, name: &str, what: &str, data: &Value) {
    hub.until(&SECRET, namespace, name, what, |seen| seen.at("/data") == data).await;
}

#[test]
fn a_signing_key_that_is_deleted_is_put_back_and_all_stays_where_it_is() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let _alone = HUB.lock().await;
        let (homer, hub, ns) = (world.consumer(HOMER), &world.hub, "keyed-broker");
        let setup = setup(world, ns, &KEYED).await;
        let scene = Scene::new(world, "keyed", &[homer]).await;
        let mut broker = Broker::start(&world.lab, &setup).await;
        serve(&scene, &KEYED).await;
        let before = standing(&scene, &KEYED).await;
        let data = hub.get(&SECRET, ns, SIGNING_KEY_SECRET).await.at("/data").clone();

        // Deleted, then a restart.
        assert_eq!(broker.terminate().await, Some(0));
        hub.delete(&SECRET, ns, SIGNING_KEY_SECRET).await;
        broker.start_again(&world.lab).await;
        secret_until(hub, ns, SIGNING_KEY_SECRET, "the same key again", &data).await;
        hub.until_event(ns, SIGNING_KEY_SECRET, "SigningKeyRestored", |told| told.message.contains("backup")).await;
        make(&scene, &KEYED, "later").await;
        served(&scene, &KEYED, "later").await;
        assert_eq!(standing(&scene, &KEYED).await, before);

        // Deleted while a process has it in use: both.
        for name in [SIGNING_KEY_SECRET, SIGNING_KEY_BACKUP] {
            hub.delete(&SECRET, ns, name).await;
        }
        for name in [SIGNING_KEY_SECRET, SIGNING_KEY_BACKUP] {
            secret_until(hub, ns, name, "the same key again", &data).await;
        }

        // Another that a person adds gets into the copy, too.
        let added = json!({"data": {"k2": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "primary": "azI="}});
        let rotated = hub.edit(&SECRET, ns, SIGNING_KEY_SECRET, added).await.at("/data").clone();
        secret_until(hub, ns, SIGNING_KEY_BACKUP, "both keys", &rotated).await;
        let uids = |standing: Vec<(String, String)>| standing.into_iter().map(|(_, uid)| uid).collect::<Vec<_>>();
        make(&scene, &KEYED, "rotated").await;
        served(&scene, &KEYED, "rotated").await;
        assert_eq!(uids(standing(&scene, &KEYED).await), uids(before), "signed anew, and the same copies");
        assert_eq!(broker.terminate().await, Some(0));
    });
}

#[test]
fn with_all_keys_lost_nothing_is_written_until_a_person_says_so() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let _alone = HUB.lock().await;
        let (homer, hub, ns) = (world.consumer(HOMER), &world.hub, "lost-broker");
        let setup = setup(world, ns, &LOST).await;
        let scene = Scene::new(world, "lost", &[homer]).await;
        let mut broker = Broker::start(&world.lab, &setup).await;
        serve(&scene, &LOST).await;
        let before = standing(&scene, &LOST).await;
        assert_eq!(broker.terminate().await, Some(0));
        for name in [SIGNING_KEY_SECRET, SIGNING_KEY_BACKUP] {
            if hub.find(&SECRET, ns, name).await.is_some() {
                hub.delete(&SECRET, ns, name).await;
            }
        }
        make(&scene, &LOST, "later").await;
        // Killed while it refuses, the next one refuses as well.
        for name in ["lost-broker-2", "lost-broker-3"] {
            let mut broker = Broker::spawn(&world.lab, &BrokerSetup { name, ..setup.clone() });
            until_it_says_what_to_do(&broker).await;
            let metrics = broker.metrics().await.unwrap();
            assert!(metrics.contains("resource_broker_signing_keys_lost 1"), "{metrics}");
            broker.kill();
            assert_eq!(standing(&scene, &LOST).await, before);
            assert!(homer.get(&LOST, scene.ns(), "later").await.finalizers().is_empty(), "nothing is written");
            assert!(hub.find(&SECRET, ns, SIGNING_KEY_SECRET).await.is_none());
        }

        let mut args = setup.args.clone();
        args.push("--new-signing-key".into());
        let mut broker = Broker::spawn(&world.lab, &BrokerSetup { name: "lost-broker-4", args, ..setup.clone() });
        let data = hub.until_there(&SECRET, ns, SIGNING_KEY_SECRET).await.at("/data").clone();
        broker.kill();
        // The flag makes one new key, however often its process begins.
        broker.start_again(&world.lab).await;
        secret_until(hub, ns, SIGNING_KEY_BACKUP, "the new key, too", &data).await;
        broker.kill();
        let mut broker = Broker::start(&world.lab, &BrokerSetup { name: "lost-broker-5", ..setup }).await;
        served(&scene, &LOST, "later").await;
        assert_eq!(hub.get(&SECRET, ns, SIGNING_KEY_SECRET).await.at("/data"), &data);
        for (number, (assignment, uid)) in before.iter().enumerate() {
            let name = format!("o{number}");
            let signed = |seen: &Object| seen.annotation(ASSIGNMENT).is_some_and(|mark| mark != assignment);
            homer.until(&LOST, scene.ns(), &name, "to be signed with the new key", signed).await;
            assert_eq!(served(&scene, &LOST, &name).await.uid(), uid, "the same copy");
        }
        assert_eq!(hub.list(&LOST, scene.ns()).await.len(), OBJECTS + 1, "one copy each");
        assert_eq!(broker.terminate().await, Some(0));
    });
}

async fn until_it_says_what_to_do(broker: &Broker) {
    let said = wait_for(DEADLINE, "/readyz to say what to do", async || {
        let (code, body) = broker.health("/readyz").await?;
        let says = body.contains("the signing keys are lost") && body.contains("--new-signing-key");
        anyhow::ensure!(code == 503 && says, "{code} {body}");
        Ok(body)
    });
    let said = said.await.unwrap_or_else(|error| panic!("{error:#}\n{}", broker.last_lines(20)));
    assert!(said.contains("Lost "), "it names an object: {said}");
    assert!(broker.log().contains("the signing keys are lost"));
}
