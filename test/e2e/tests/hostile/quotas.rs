//! Quotas and turns are shared between tenants.

use broker_api::keys;
use e2e::{
    Broker, BrokerSetup, Kind, Object, Place, Recording, Scene, World,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, WORLD};

/// The kind of the broker that bounds objects.
const GAUGE: Kind = Kind::test("Gauge", "gauges");
/// The kind of the broker that moves one at a time.
const CART: Kind = Kind::test("Cart", "carts");

/// A broker of its own for a kind.
async fn broker(world: &World, name: &str, kind: Kind, args: &[&str]) -> Broker {
    let crd = kind.crd().to_string();
    for place in [HOMER, BART].map(|name| world.consumer(name)).into_iter().chain(world.providers()) {
        place.apply(&crd).await;
    }
    world.hub.make_namespace(name).await;
    let args = crate::arguments(&[args, &["--namespace", name]].concat());
    Broker::start(&world.lab, &BrokerSetup { name, kinds: &[kind], args, ..world.setup() }).await
}

async fn create(place: &Place, kind: &Kind, namespace: &str, name: &str) {
    place.create(kind, namespace, name, json!({"spec": {"size": 1}})).await;
}

#[test]
fn a_consumer_has_as_many_objects_as_it_may_have_and_others_have_theirs() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, bart, ariadne) = (world.consumer(HOMER), world.consumer(BART), world.provider(ARIADNE));
        let mut broker = broker(world, "hostile-quotas", GAUGE, &["--max-objects-per-consumer", "2"]).await;
        let scene = Scene::new(world, "hostile-quota", &[homer, bart]).await;
        scene.accept_kind(&GAUGE, ariadne, &[], Value::Null).await;
        for name in ["a", "b"] {
            create(homer, &GAUGE, scene.ns(), name).await;
            ariadne.until_there(&GAUGE, scene.ns(), &homer.copy_name(name)).await;
        }
        create(homer, &GAUGE, scene.ns(), "c").await;
        let full = |seen: &Object| seen.has("Brokered", "False", "QuotaExceeded");
        let seen = homer.until(&GAUGE, scene.ns(), "c", "to be told", full).await;
        let told = seen.condition("Brokered").unwrap().message;
        assert!(told.contains('2') && told.contains("--max-objects-per-consumer"), "{told}");
        homer.until_event(scene.ns(), "c", "QuotaExceeded", |_| true).await;
        create(bart, &GAUGE, scene.ns(), "a").await;
        ariadne.until_there(&GAUGE, scene.ns(), &bart.copy_name("a")).await;
        assert!(ariadne.find(&GAUGE, scene.ns(), &homer.copy_name("c")).await.is_none());

        // A restart counts what is there.
        assert_eq!(broker.terminate().await, Some(0));
        broker.start_again(&world.lab).await;
        create(homer, &GAUGE, scene.ns(), "d").await;
        homer.until(&GAUGE, scene.ns(), "d", "to be told", full).await;
        // One that goes makes room for one.
        homer.delete(&GAUGE, scene.ns(), "d").await;
        homer.delete(&GAUGE, scene.ns(), "a").await;
        ariadne.until_there(&GAUGE, scene.ns(), &homer.copy_name("c")).await;
        assert_eq!(broker.terminate().await, Some(0));
    });
}

#[test]
fn an_accept_api_takes_so_many_objects_of_one_consumer() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, bart, theseus) = (world.consumer(HOMER), world.consumer(BART), world.provider(THESEUS));
        let scene = Scene::new(world, "hostile-share", &[homer, bart]).await;
        scene.accept(theseus, json!({"capacityPerConsumer": 1})).await;
        scene.certificate(homer, "a").await;
        scene.copy(homer, "a", theseus).await;
        scene.certificate(homer, "b").await;
        let full = |seen: &Object| {
            let told = seen.condition("Brokered");
            told.is_some_and(|told| told.reason == "NoProvider" && told.message.contains("capacityPerConsumer 1"))
        };
        scene.until(homer, "b", "to be told", full).await;
        scene.certificate(bart, "a").await;
        scene.copy(bart, "a", theseus).await;
        homer.delete(&CERTIFICATE, scene.ns(), "a").await;
        scene.copy(homer, "b", theseus).await;
    });
}

#[test]
fn turns_to_move_go_round_the_consumers_and_are_given_back_by_copies_that_never_get_ready() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let args = ["--max-moves", "1", "--ready-timeout", "8s"];
        let mut broker = broker(world, "hostile-turns", CART, &args).await;
        let scene = Scene::new(world, "hostile-turn", &[homer, bart]).await;
        let accept = scene.accept_kind(&CART, ariadne, &[], json!({"priority": 1})).await;
        // By name the attacker's come first, all of them.
        let theirs = ["a1", "a2", "a3", "a4", "a5", "a6"];
        for (consumer, name) in theirs.map(|name| (bart, name)).into_iter().chain([(homer, "z")]) {
            create(consumer, &CART, scene.ns(), name).await;
            let copy = consumer.copy_name(name);
            ariadne.until_there(&CART, scene.ns(), &copy).await;
            ariadne.set_status(&CART, scene.ns(), &copy, json!({"status": "Available"})).await;
        }
        // What the other tenant has comes when all of the attacker's wait already.
        let pause = |word: &str| json!({"metadata": {"annotations": {keys::PAUSED: word}}});
        homer.edit(&CART, scene.ns(), "z", pause("true")).await;
        theseus.make_namespace(scene.ns()).await;
        let copies = Recording::begin(theseus, &CART, scene.ns()).await;
        scene.accept_kind(&CART, theseus, &[], Value::Null).await;
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
        let in_line = |seen: &Object| seen.condition("Moving").is_some();
        for name in theirs {
            bart.until(&CART, scene.ns(), name, "to stand in line", in_line).await;
        }
        homer.edit(&CART, scene.ns(), "z", pause("false")).await;
        homer.until(&CART, scene.ns(), "z", "to stand in line", in_line).await;
        let made = async || -> Vec<String> {
            let changes = copies.changes().await;
            let mut made: Vec<String> = Vec::new();
            for name in changes.iter().map(|change| change.object.name()) {
                if !made.iter().any(|seen| seen == name) {
                    made.push(name.to_owned());
                }
            }
            made
        };
        let already = made().await.len();
        // No copy at theseus ever gets ready: each turn is given back when the new copy's time is over.
        let mine = homer.copy_name("z");
        theseus.until_there(&CART, scene.ns(), &mine).await;
        let made = made().await;
        let before = made.iter().position(|name| *name == mine).unwrap();
        assert!(before <= already + 1, "{before} of {theirs:?} came first, {already} of them before z stood in line");
        assert!(before <= 4, "{before} of six came before the other tenant's only one");
        assert_eq!(broker.terminate().await, Some(0));
    });
}
