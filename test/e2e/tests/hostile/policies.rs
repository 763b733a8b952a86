//! A provider that attracts everything takes what the platform lets it take: bounds on its cluster Secret, or in a file
//! beside its kubeconfig.

use std::fs;

use broker_api::keys;
use e2e::{
    Broker, BrokerSetup, Controller, DEADLINE, Kind, Object, Place, Scene, World,
    kind::{ACCEPT_API, SECRET},
    scene::ACCEPT_NAMESPACE,
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, WORLD};

const GOBLET: Kind = Kind::test("Goblet", "goblets");
const CHALICE: Kind = Kind::test("Chalice", "chalices");
const SECRETS: &str = "policies";
/// So many Goblets are attracted, and leave again.
const GOBLETS: usize = 6;
const PROVIDER: &str = "broker.platform-mesh.io/provider-cluster";

fn placed(seen: &Object) -> bool {
    seen.has("Brokered", "True", "Placed")
}

/// A merge patch of annotations.
fn annotations(pairs: &Value) -> Value {
    json!({"metadata": {"annotations": pairs}})
}

/// An AcceptAPI that wants everything: the highest priority, and its share of what others have.
async fn greedy(scene: &Scene<'_>, kind: &Kind, provider: &Place) -> String {
    let accept = scene.accept_kind(kind, provider, &[], json!({"priority": i64::from(i32::MAX)})).await;
    provider.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, annotations(&json!({keys::REBALANCE: "true"}))).await;
    accept
}

/// Waits until an AcceptAPI's condition `Ready` has this reason and holds these words.
async fn told(provider: &Place, accept: &str, reason: &str, words: &[&str]) {
    let test = |seen: &Object| {
        let told = seen.condition("Ready").filter(|told| told.reason == reason);
        told.is_some_and(|told| words.iter().all(|word| told.message.contains(word)))
    };
    provider.until(&ACCEPT_API, ACCEPT_NAMESPACE, accept, &format!("{reason} {words:?}"), test).await;
}

/// Who serves the objects of a kind in a namespace, by name.
async fn served_by(consumer: &Place, kind: &Kind, namespace: &str) -> Vec<Option<String>> {
    let all = consumer.list(kind, namespace).await;
    all.iter().map(|seen| seen.annotation(PROVIDER).map(str::to_owned)).collect()
}

async fn until_served_by(consumer: &Place, kind: &Kind, namespace: &str, provider: &Place, count: usize) {
    let what = format!("{count} objects to be served by {}", provider.name());
    let waited = wait_for(DEADLINE * 2, &what, async || {
        let all = served_by(consumer, kind, namespace).await;
        let found = all.iter().filter(|found| found.as_deref() == Some(provider.name())).count();
        if found == count { Ok(()) } else { Err(format!("{all:?}")) }
    });
    waited.await.unwrap();
}

async fn clear(consumer: &Place, kind: &Kind, namespace: &str) {
    for object in consumer.list(kind, namespace).await {
        consumer.delete(kind, namespace, object.name()).await;
    }
}

/// A broker for a kind whose clusters are Secrets.
async fn with_secrets(world: &World, kind: Kind) -> Broker {
    world.hub.make_namespace(SECRETS).await;
    for place in [HOMER, BART].map(|name| world.consumer(name)).into_iter().chain(world.providers()) {
        place.apply(&kind.crd().to_string()).await;
    }
    let clusters = [HOMER, BART].map(|name| ("consumer", world.consumer(name)));
    let clusters = clusters.into_iter().chain(world.providers().iter().map(|provider| ("provider", provider)));
    for (role, place) in clusters {
        let labels = json!({keys::ROLE: role, "tier": if place.name() == HOMER { "gold" } else { "free" }});
        let content = json!({"kubeconfig": place.cluster.kubeconfig("broker").unwrap()});
        let body = json!({"metadata": {"labels": labels}, "stringData": content});
        world.hub.create(&SECRET, SECRETS, place.name(), body).await;
    }
    let setup = BrokerSetup {
        name: "policies",
        coordination: Some(&world.hub),
        kinds: &[kind],
        args: crate::arguments(&["--cluster-secrets-namespace", SECRETS]),
        ..BrokerSetup::default()
    };
    Broker::start(&world.lab, &setup).await
}

#[test]
fn a_provider_with_the_highest_priority_that_asks_for_all_takes_only_what_its_secret_lets_it() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "policies-secret", &[homer, bart]).await;
        let _broker = with_secrets(world, GOBLET).await;
        let _controllers = [ariadne, theseus].map(|place| Controller::start(place, &GOBLET, scene.ns()));
        let make = async |consumer: &Place, name: &str| {
            consumer.create(&GOBLET, scene.ns(), name, json!({"spec": {}})).await;
        };
        let bound = async |pairs: Value| {
            world.hub.edit(&SECRET, SECRETS, THESEUS, annotations(&pairs)).await;
        };
        scene.accept_kind(&GOBLET, ariadne, &[], json!({"priority": 5})).await;
        for number in 0..GOBLETS {
            make(homer, &format!("g{number}")).await;
        }
        until_served_by(homer, &GOBLET, scene.ns(), ariadne, GOBLETS).await;

        // Nobody has said that it may attract: all stay, and it is told.
        let greedy = greedy(&scene, &GOBLET, theseus).await;
        told(theseus, &greedy, "Ready", &["in use", "rebalance has no effect"]).await;
        make(bart, "new").await;
        until_served_by(bart, &GOBLET, scene.ns(), theseus, 1).await;
        assert_eq!(served_by(homer, &GOBLET, scene.ns()).await, vec![Some(ARIADNE.to_owned()); GOBLETS]);

        // A bound on its priority: whatever is new goes where it would go without.
        bound(json!({keys::MAX_PRIORITY: "4"})).await;
        told(theseus, &greedy, "Ready", &["counts as 4"]).await;
        make(bart, "next").await;
        until_served_by(bart, &GOBLET, scene.ns(), ariadne, 1).await;
        assert_eq!(bart.get(&GOBLET, scene.ns(), "new").await.annotation(PROVIDER), Some(THESEUS));

        // One that cannot be read: nothing new, and what is there stays.
        bound(json!({keys::MAX_PRIORITY: "4000 or so"})).await;
        told(theseus, &greedy, "PolicyInvalid", &[keys::MAX_PRIORITY]).await;
        world.hub.until_event(SECRETS, THESEUS, "PolicyInvalid", |_| true).await;
        make(bart, "third").await;
        until_served_by(bart, &GOBLET, scene.ns(), ariadne, 2).await;
        assert_eq!(bart.get(&GOBLET, scene.ns(), "new").await.annotation(PROVIDER), Some(THESEUS));

        // Whom it may serve: bart's leaves, homer's may come, and now they are attracted.
        let gold = json!({keys::MAX_PRIORITY: null, keys::ALLOW_REBALANCE: "true", keys::CONSUMERS: "tier=gold"});
        bound(gold).await;
        until_served_by(homer, &GOBLET, scene.ns(), theseus, GOBLETS).await;
        bart.edit(&GOBLET, scene.ns(), "new", json!({"spec": {"edited": true}})).await;
        let refused = |seen: &Object| {
            seen.annotation(PROVIDER) == Some(ARIADNE)
                || seen.condition("Accepted").is_some_and(|told| told.message.contains("consumer \"bart\""))
                || seen.condition("Moving").is_some_and(|told| told.status == "True")
        };
        bart.until(&GOBLET, scene.ns(), "new", "to leave", refused).await;
        // The platform gives bart the label: it takes effect without a restart.
        let label = json!({"metadata": {"labels": {"tier": "gold"}}});
        world.hub.edit(&SECRET, SECRETS, BART, label).await;
        until_served_by(bart, &GOBLET, scene.ns(), theseus, 3).await;

        // Which kinds it may serve: this one not.
        bound(json!({keys::SERVES: "Chalice.e2e.test, Chalice.v1.e2e.test"})).await;
        told(theseus, &greedy, "NotPermitted", &["Goblet"]).await;
        until_served_by(homer, &GOBLET, scene.ns(), ariadne, GOBLETS).await;
        for consumer in [homer, bart] {
            clear(consumer, &GOBLET, scene.ns()).await;
        }
    });
}

#[test]
fn the_same_is_said_in_a_file_beside_the_kubeconfig_and_read_again_when_it_changes() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "policies-file", &[homer]).await;
        for place in [homer, ariadne, theseus] {
            place.apply(&CHALICE.crd().to_string()).await;
        }
        let setup = BrokerSetup {
            name: "policies-file",
            coordination: Some(&world.hub),
            consumers: vec![homer],
            providers: vec![ariadne, theseus],
            kinds: &[CHALICE],
            ..BrokerSetup::default()
        };
        let broker = Broker::start(&world.lab, &setup).await;
        let _controllers = [ariadne, theseus].map(|place| Controller::start(place, &CHALICE, scene.ns()));
        let write = |role: &str, name: &str, content: &str| {
            let folder = broker.directory().join(role);
            // Replaced at once, as editors do.
            fs::write(folder.join("unfinished"), content).unwrap();
            fs::rename(folder.join("unfinished"), folder.join(format!("{name}.policy.yaml"))).unwrap();
        };
        let make = async |name: &str| {
            homer.create(&CHALICE, scene.ns(), name, json!({"spec": {}})).await;
            homer.until(&CHALICE, scene.ns(), name, "to be placed", placed).await
        };
        scene.accept_kind(&CHALICE, ariadne, &[], json!({"priority": 5})).await;
        let first = make("first").await;
        assert_eq!(first.annotation(PROVIDER), Some(ARIADNE));
        let greedy = greedy(&scene, &CHALICE, theseus).await;
        told(theseus, &greedy, "Ready", &["rebalance has no effect"]).await;

        write("provider", THESEUS, "maxPriority: 4\nallowRebalance: true\n");
        told(theseus, &greedy, "Ready", &["counts as 4"]).await;
        assert_eq!(make("second").await.annotation(PROVIDER), Some(ARIADNE));

        write("provider", THESEUS, "maxPriority: [4\n");
        told(theseus, &greedy, "PolicyInvalid", &["theseus.policy.yaml"]).await;
        assert_eq!(make("third").await.annotation(PROVIDER), Some(ARIADNE));

        write("provider", THESEUS, "consumers: tier=gold\nallowRebalance: true\n");
        told(theseus, &greedy, "Ready", &["tier in (gold)"]).await;
        assert_eq!(make("fourth").await.annotation(PROVIDER), Some(ARIADNE));

        write("consumer", HOMER, "labels: {tier: gold}\n");
        until_served_by(homer, &CHALICE, scene.ns(), theseus, 4).await;

        write("provider", THESEUS, "serves: [Goblet.e2e.test]\n");
        told(theseus, &greedy, "NotPermitted", &["Chalice"]).await;
        until_served_by(homer, &CHALICE, scene.ns(), ariadne, 4).await;
        clear(homer, &CHALICE, scene.ns()).await;
    });
}
