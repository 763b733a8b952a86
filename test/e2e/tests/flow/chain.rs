//! One API server in several roles: brokers in a chain, and a consumer that is its own provider.

use broker_api::keys;
use e2e::{
    Broker, BrokerSetup, Object, Place, Scene,
    kind::{ACCEPT_API, SECRET},
    place::consumer_hash,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, MIRROR, RELAY, WORLD};

/// Homer → (first broker) → Ariadne → (second broker, with a key of its own) → hub.
#[test]
fn brokers_can_be_chained() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "chain", &[homer]).await;
        world.hub.make_namespace("second-broker").await;
        let setup = BrokerSetup {
            name: "second-broker",
            coordination: Some(&world.hub),
            consumers: vec![ariadne],
            providers: vec![&world.hub],
            kinds: &[RELAY],
            args: vec!["--namespace".into(), "second-broker".into()],
            ..BrokerSetup::default()
        };
        let mut second = Broker::start(&world.lab, &setup).await;
        let any = json!({"key": "scene", "valueIn": [scene.name]});
        scene.accept_kind(&RELAY, ariadne, std::slice::from_ref(&any), Value::Null).await;
        scene.accept_kind(&RELAY, &world.hub, &[any], Value::Null).await;
        let spec = |size: i64| json!({"spec": {"scene": scene.name, "size": size}});
        homer.create(&RELAY, scene.ns(), "r", spec(1)).await;

        // There: a copy of a copy. To the second broker the first one's copy is an object like any other.
        let middle_name = homer.copy_name("r");
        let end_name = format!("{}-{middle_name}", consumer_hash(ARIADNE));
        let middle = ariadne.until_there(&RELAY, scene.ns(), &middle_name).await;
        let end = world.hub.until_there(&RELAY, scene.ns(), &end_name).await;
        assert_eq!(end.annotation(keys::CONSUMER_CLUSTER), Some(ARIADNE));
        assert_eq!(end.annotation(keys::CONSUMER_UID), Some(middle.uid()));
        homer.edit(&RELAY, scene.ns(), "r", spec(2)).await;
        world.hub.until(&RELAY, scene.ns(), &end_name, "the edit", |seen| seen.at("/spec/size") == 2).await;

        // And back: status and related resources.
        let owner = json!([{
            "apiVersion": RELAY.api_version(), "kind": RELAY.kind, "name": end_name, "uid": end.uid(),
        }]);
        let secret = json!({"metadata": {"ownerReferences": owner}, "stringData": {"password": "one"}});
        world.hub.create(&SECRET, scene.ns(), &format!("{end_name}-secret"), secret).await;
        let listed = json!({"secret": {"gvk": SECRET.gvk(), "name": format!("{end_name}-secret")}});
        let status = json!({"status": "Available", "relatedResources": listed});
        world.hub.set_status(&RELAY, scene.ns(), &end_name, status).await;
        let back = |seen: &Object| seen.text("/status/status") == "Available";
        let origin = homer.until(&RELAY, scene.ns(), "r", "the status", back).await;
        assert_eq!(origin.text("/status/relatedResources/secret/name"), "r-secret");
        let here = |seen: &Object| seen.text("/data/password") == "b25l";
        homer.until(&SECRET, scene.ns(), "r-secret", "its data", here).await;

        // Both rest: neither undoes what the other writes.
        scene.barrier(homer, ariadne).await;
        let rested = ariadne.get(&RELAY, scene.ns(), &middle_name).await;
        assert_eq!(rested.finalizers(), [keys::FINALIZER], "the second broker's");
        scene.barrier(homer, ariadne).await;
        assert_eq!(ariadne.get(&RELAY, scene.ns(), &middle_name).await.version(), rested.version());

        // Deletion goes to the end and comes back.
        homer.delete(&RELAY, scene.ns(), "r").await;
        homer.until_gone(&RELAY, scene.ns(), "r").await;
        assert!(ariadne.find(&RELAY, scene.ns(), &middle_name).await.is_none());
        assert!(world.hub.find(&RELAY, scene.ns(), &end_name).await.is_none());
        assert_eq!(second.terminate().await, Some(0));
    });
}

/// Coordination cluster, consumer and provider in one: a copy is never an origin.
#[test]
fn one_api_server_may_be_consumer_and_provider() {
    WORLD.run(async |world| {
        let both = Place::new("both", world.hub.cluster.clone()).await;
        let scene = Scene::new(world, "mirror", &[&both]).await;
        both.make_namespace("third-broker").await;
        let setup = BrokerSetup {
            name: "third-broker",
            coordination: Some(&both),
            consumers: vec![&both],
            providers: vec![&both],
            kinds: &[MIRROR],
            args: vec!["--namespace".into(), "third-broker".into()],
            ..BrokerSetup::default()
        };
        let mut third = Broker::start(&world.lab, &setup).await;
        let any = json!({"key": "scene", "valueIn": [scene.name]});
        let accept = scene.accept_kind(&MIRROR, &both, &[any], Value::Null).await;
        let body = json!({"spec": {"scene": scene.name}});
        let created = both.create(&MIRROR, scene.ns(), "m", body.clone()).await;
        let copy = both.until_there(&MIRROR, scene.ns(), &both.copy_name("m")).await;
        assert_eq!(copy.annotation(keys::CONSUMER_UID), Some(created.uid()));
        both.set_status(&MIRROR, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        let back = |seen: &Object| seen.text("/status/status") == "Available";
        both.until(&MIRROR, scene.ns(), "m", "the status", back).await;

        // A second object that goes all the way shows that the first one's copy was seen and left alone.
        both.create(&MIRROR, scene.ns(), "n", body).await;
        let other = both.until_there(&MIRROR, scene.ns(), &both.copy_name("n")).await;
        both.set_status(&MIRROR, scene.ns(), other.name(), json!({"status": "Available"})).await;
        both.until(&MIRROR, scene.ns(), "n", "the status", back).await;
        let placed = |seen: &Object| seen.at("/status/placed") == 2;
        both.until(&ACCEPT_API, e2e::scene::ACCEPT_NAMESPACE, &accept, "2 placed", placed).await;
        let all = both.list(&MIRROR, scene.ns()).await;
        assert_eq!(all.len(), 4, "{all:?}");
        for copy in all.iter().filter(|object| object.annotation(keys::CONSUMER_UID).is_some()) {
            assert_eq!((copy.finalizers(), copy.annotation(keys::PROVIDER_CLUSTER)), (vec![], None), "{copy}");
        }

        for name in ["m", "n"] {
            both.delete(&MIRROR, scene.ns(), name).await;
            both.until_gone(&MIRROR, scene.ns(), name).await;
        }
        assert_eq!(both.list(&MIRROR, scene.ns()).await, []);
        assert_eq!(third.terminate().await, Some(0));
    });
}
