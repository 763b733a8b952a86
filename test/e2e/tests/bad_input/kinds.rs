//! Kinds that cannot be brokered as they are, and namespaces that take nothing.

use e2e::{
    Object, Scene, Tally, World,
    kind::{CERTIFICATE, CONFIG_MAP, NAMESPACE},
};
use kube::{
    Api,
    api::{DynamicObject, PostParams},
};
use serde_json::{Value, json};

use crate::{CLUSTERED, NARROW, STATUSLESS, WORLD, cast, placed, unharmed};

#[test]
fn a_cluster_scoped_kind_is_told() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "clustered", &[homer]).await;
        scene.accept_kind(&CLUSTERED, theseus, &[], Value::Null).await;
        let tally = Tally::begin([homer]).await;
        let api: Api<DynamicObject> = Api::all_with(homer.client(), &CLUSTERED.resource());
        let object = json!({
            "apiVersion": CLUSTERED.api_version(), "kind": CLUSTERED.kind,
            "metadata": {"name": "everywhere"}, "spec": {"size": 1},
        });
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        let waited =
            harness::wait_for(e2e::DEADLINE, "the object to say that its kind is cluster-scoped", async || {
                let seen = Object::from(api.get("everywhere").await?);
                let told = seen.condition("Brokered").map(|told| format!("{} {}", told.reason, told.message));
                let right =
                    told.as_ref().is_some_and(|told| told.starts_with("Invalid") && told.contains("cluster-scoped"));
                anyhow::ensure!(right && seen.finalizers().is_empty(), "{seen}");
                Ok(())
            });
        waited.await.unwrap();
        let requests = tally.requests().await;
        assert!(requests.writes().on(CLUSTERED.plural).0.len() <= 2, "{requests}");
        unharmed(world).await;
    });
}

#[test]
fn a_consumer_without_status_is_served_and_told() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "statusless", &[homer]).await;
        scene.accept_kind(&STATUSLESS, theseus, &[], Value::Null).await;
        let tally = Tally::begin([homer, theseus]).await;
        homer.create(&STATUSLESS, scene.ns(), "web", json!({"spec": {"size": 1}})).await;
        let copy = theseus.until_there(&STATUSLESS, scene.ns(), &homer.copy_name("web")).await;
        theseus.set_status(&STATUSLESS, scene.ns(), copy.name(), json!({"phase": "Up"})).await;
        let told = |told: &e2e::Told| told.message.contains("subresources") && told.status == "Warning";
        homer.until_event(scene.ns(), "web", "StatusUnsupported", told).await;
        homer.edit(&STATUSLESS, scene.ns(), "web", json!({"spec": {"size": 2}})).await;
        let edited = |seen: &Object| seen.at("/spec/size") == 2;
        theseus.until(&STATUSLESS, scene.ns(), copy.name(), "the edit", edited).await;
        let requests = tally.requests().await.within(scene.ns());
        assert!(requests.writes().0.len() <= 6, "{requests}");
        homer.delete(&STATUSLESS, scene.ns(), "web").await;
        homer.until_gone(&STATUSLESS, scene.ns(), "web").await;
        assert!(theseus.find(&STATUSLESS, scene.ns(), copy.name()).await.is_none());
        unharmed(world).await;
    });
}

#[test]
fn fields_that_the_provider_does_not_know_are_told() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "narrow", &[homer]).await;
        scene.accept_kind(&NARROW, theseus, &[], Value::Null).await;
        let tally = Tally::begin([homer, theseus]).await;
        homer.create(&NARROW, scene.ns(), "web", json!({"spec": {"color": "red", "flavour": "sweet"}})).await;
        let copy = theseus.until_there(&NARROW, scene.ns(), &homer.copy_name("web")).await;
        assert_eq!(copy.at("/spec"), &json!({"color": "red"}));
        let told = |told: &e2e::Told| told.message.contains("spec.flavour") && told.message.contains("theseus");
        homer.until_event(scene.ns(), "web", "FieldsDropped", told).await;
        homer.edit(&NARROW, scene.ns(), "web", json!({"spec": {"color": "blue"}})).await;
        let edited = |seen: &Object| seen.text("/spec/color") == "blue";
        theseus.until(&NARROW, scene.ns(), copy.name(), "the edit", edited).await;
        let requests = tally.requests().await.within(scene.ns());
        let copies = requests.writes().only(|request| request.place == "theseus").carried_out();
        assert_eq!(copies.0.len(), 2, "created and edited: {requests}");
        unharmed(world).await;
    });
}

/// A namespace at the provider that is being deleted and cannot go.
async fn stuck_namespace(world: &World, name: &str) {
    let [_, _, theseus, _] = cast(world);
    theseus.make_namespace(name).await;
    theseus.create(&CONFIG_MAP, name, "holds", json!({"metadata": {"finalizers": ["e2e.test/holds"]}})).await;
    theseus.delete(&NAMESPACE, "", name).await;
}

#[test]
fn a_namespace_that_is_being_deleted_is_told_and_waited_for() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "terminating", &[homer]).await;
        stuck_namespace(world, scene.ns()).await;
        scene.accept(theseus, Value::Null).await;
        let tally = Tally::begin([homer, theseus]).await;
        scene.certificate(homer, "web").await;
        let says = |seen: &Object| {
            seen.has("Brokered", "False", "NamespaceTerminating")
                && seen.condition("Brokered").is_some_and(|told| told.message.contains(scene.ns()))
        };
        scene.until(homer, "web", "to say that the namespace is going", says).await;
        let requests = tally.requests().await.within(scene.ns());
        assert!(requests.writes().0.len() <= 8, "no retry storm: {requests}");
        theseus.edit(&CONFIG_MAP, scene.ns(), "holds", json!({"metadata": {"finalizers": null}})).await;
        theseus.until_there(&CERTIFICATE, scene.ns(), &homer.copy_name("web")).await;
        scene.until(homer, "web", "to be placed", placed).await;
        unharmed(world).await;
    });
}
