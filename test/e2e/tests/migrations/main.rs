//! Migrations: what happens in the coordination and in the compute cluster while an object moves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod command_line;
mod compute;
mod configurations;
mod failures;
mod flow;
mod names;
mod people;
mod templates;
mod trip;

use broker_api::keys;
use e2e::{
    Kind, Object, Place, Scene, Shared, World,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION, SECRET, WIDGET},
    scene::ACCEPT_NAMESPACE,
};
use futures::{FutureExt as _, future::join_all};
use serde_json::{Value, json};

/// A consumer.
const HOMER: &str = "homer";
/// Another consumer.
const BART: &str = "bart";
/// A provider.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

static WORLD: Shared = Shared::new(|| start().boxed_local());

async fn start() -> World {
    let world = World::modelled_around_a_hub(&[HOMER, BART], &[ARIADNE, THESEUS], &[CERTIFICATE]).await;
    let crds = trip::crds();
    let places = [world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS)];
    join_all(places.map(|place| place.apply(&crds))).await;
    world.hub.apply(&WIDGET.crd().to_string()).await;
    let kinds: Vec<Kind> = trip::kinds().into_iter().chain([CERTIFICATE]).collect();
    world.start_broker(&kinds, &["--stage-namespace", "mig-elsewhere"]).await;
    world
}

/// A MigrationConfiguration is in force for all Certificates: tests that move some take turns.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A MigrationConfiguration for Certificates.
async fn configure(hub: &Place, name: &str, stages: Value) -> Object {
    let spec = json!({"from": CERTIFICATE.gvk(), "to": CERTIFICATE.gvk(), "stages": stages});
    hub.create(&MIGRATION_CONFIGURATION, "default", name, json!({"spec": spec})).await
}

/// A Certificate that ariadne serves, and its copy there.
async fn served(scene: &Scene<'_>, homer: &Place, ariadne: &Place, name: &str) -> (String, Object) {
    let accept = scene.accept(ariadne, json!({"priority": 10})).await;
    scene.certificate(homer, name).await;
    let copy = scene.copy(homer, name, ariadne).await;
    available(ariadne, &copy).await;
    (accept, copy)
}

async fn available(provider: &Place, copy: &Object) {
    let related =
        json!({"key": {"gvk": SECRET.gvk(), "name": format!("{}-key", copy.name()), "namespace": copy.namespace()}});
    let owner = json!([{
        "apiVersion": CERTIFICATE.api_version(), "kind": CERTIFICATE.kind, "name": copy.name(), "uid": copy.uid(),
    }]);
    let secret = json!({"metadata": {"ownerReferences": owner}, "stringData": {"provider": provider.name()}});
    provider.create(&SECRET, copy.namespace(), &format!("{}-key", copy.name()), secret).await;
    let status = json!({"status": "Available", "relatedResources": related});
    provider.set_status(&CERTIFICATE, copy.namespace(), copy.name(), status).await;
}

async fn the_only(hub: &Place, namespace: &str) -> Object {
    let found = harness::wait_for(e2e::DEADLINE, "one Migration", async || {
        let all = hub.list(&MIGRATION, namespace).await;
        <[Object; 1]>::try_from(all).map_err(|all| format!("{all:?}"))
    });
    let [migration] = found.await.unwrap();
    migration
}

fn state(wanted: &str) -> impl Fn(&Object) -> bool {
    move |seen: &Object| seen.text("/status/state") == wanted
}

/// Nothing of a kind that a Migration made is left.
async fn until_swept(hub: &Place, kind: &Kind, namespace: &str, id: &str) {
    let what = format!("no {} of {id}", kind.kind);
    let swept = harness::wait_for(e2e::DEADLINE, &what, async || {
        let all = hub.list(kind, namespace).await;
        let left: Vec<&str> =
            all.iter().filter(|object| object.label(keys::MIGRATION_ID) == Some(id)).map(Object::name).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
    swept.await.unwrap();
}

#[test]
fn stages_run_while_an_object_moves() {
    WORLD.run(async |world| {
        let _peace = trip::PEACE.read().await;
        let _turn = TURN.lock().await;
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let hub = &world.hub;
        let scene = Scene::new(world, "mig-stages", &[homer]).await;
        let (accept, old) = served(&scene, homer, ariadne, "cert").await;
        homer.until_there(&SECRET, scene.ns(), "cert-key").await;
        let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"fqdn": "${to.spec.fqdn}"}});
        configure(hub, "stages", json!([
            {"name": "check", "progress": true, "templates": {"probe": probe}, "successConditions": ["has(probe.data.done)"]},
            {"name": "after"},
        ]))
        .await;
        let ready = |seen: &Object| seen.condition("Ready").is_some_and(|ready| ready.status == "True");
        hub.until(&MIGRATION_CONFIGURATION, "default", "stages", "to be ready", ready).await;
        scene.accept(theseus, Value::Null).await;
        ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
        let new = scene.copy(homer, "cert", theseus).await;
        available(theseus, &new).await;

        let migration = the_only(hub, scene.ns()).await;
        let migration = hub
            .until(&MIGRATION, scene.ns(), migration.name(), "its first stage", state("InitialInProgress"))
            .await;
        let id = migration.text("/status/id").to_owned();
        let probe = hub.until_there(&CONFIG_MAP, scene.ns(), &format!("{id}-probe")).await;
        assert_eq!(probe.text("/data/fqdn"), scene.fqdn("cert"));
        for side in ["from", "to"] {
            hub.until_there(&SECRET, scene.ns(), &format!("{id}-{side}-{}-key", new.name())).await;
        }
        assert!(ariadne.find(&CERTIFICATE, scene.ns(), old.name()).await.is_some(), "the old copy stays until the cutover");

        hub.edit(&CONFIG_MAP, scene.ns(), probe.name(), json!({"data": {"done": "yes"}})).await;
        hub.until(&MIGRATION, scene.ns(), migration.name(), "to complete", state("CutoverCompleted")).await;
        ariadne.until_gone(&CERTIFICATE, scene.ns(), old.name()).await;
        until_swept(hub, &CONFIG_MAP, scene.ns(), &id).await;
        until_swept(hub, &SECRET, scene.ns(), &id).await;
        let unheld = |seen: &Object| seen.finalizers().is_empty();
        hub.until(&MIGRATION, scene.ns(), migration.name(), "to lose its finalizer", unheld).await;
        homer.until_there(&SECRET, scene.ns(), "cert-key").await;
        hub.until_event(scene.ns(), migration.name(), "Completed", |_| true).await;
        hub.delete(&MIGRATION_CONFIGURATION, "default", "stages").await;
    });
}

#[test]
fn a_person_moves_an_object_by_hand() {
    WORLD.run(async |world| {
        let _peace = trip::PEACE.read().await;
        let _turn = TURN.lock().await;
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let hub = &world.hub;
        let scene = Scene::new(world, "mig-person", &[homer]).await;
        let (_, old) = served(&scene, homer, ariadne, "cert").await;
        scene.accept(theseus, Value::Null).await;
        hub.make_namespace(scene.ns()).await;
        let side = |provider: &Place| {
            json!({"gvk": CERTIFICATE.gvk(), "name": old.name(), "namespace": scene.ns(), "clusterName": provider.name()})
        };
        let spec = json!({"from": side(ariadne), "to": side(theseus)});
        hub.create(&MIGRATION, scene.ns(), "by-hand", json!({"spec": spec})).await;
        let new = scene.copy(homer, "cert", theseus).await;
        available(theseus, &new).await;
        hub.until(&MIGRATION, scene.ns(), "by-hand", "to complete", state("CutoverCompleted")).await;
        ariadne.until_gone(&CERTIFICATE, scene.ns(), old.name()).await;
        let there = |seen: &Object| seen.annotation(keys::PROVIDER_CLUSTER) == Some(THESEUS);
        scene.until(homer, "cert", "to be at theseus", there).await;
    });
}

#[test]
fn a_migration_that_cannot_be_is_refused() {
    WORLD.run(async |world| {
        let _peace = trip::PEACE.read().await;
        let hub = &world.hub;
        let name = "mig-refused";
        hub.make_namespace(name).await;
        let side = |name: &str, cluster: &str| {
            json!({"gvk": CERTIFICATE.gvk(), "name": name, "namespace": "mig-refused", "clusterName": cluster})
        };
        for (nth, (copy, to, reason)) in
            [("a8b70b353e97-none", THESEUS, "FromIsNoCopy"), ("none", THESEUS, "FromIsNoCopy"), ("none", "nobody", "ProviderUnknown")]
                .into_iter()
                .enumerate()
        {
            let spec = json!({"from": side(copy, ARIADNE), "to": side(copy, to)});
            let migration = format!("m{nth}");
            hub.create(&MIGRATION, name, &migration, json!({"spec": spec})).await;
            let refused = |seen: &Object| {
                seen.text("/status/state") == "Failed"
                    && seen.condition("Succeeded").is_some_and(|succeeded| succeeded.reason == reason)
            };
            hub.until(&MIGRATION, name, &migration, reason, refused).await;
            hub.delete(&MIGRATION, name, &migration).await;
            hub.until_gone(&MIGRATION, name, &migration).await;
        }
    });
}

#[test]
fn a_configuration_says_what_is_wrong_with_it() {
    WORLD.run(async |world| {
        let _peace = trip::PEACE.read().await;
        let hub = &world.hub;
        let other = Kind::example("VM", "vms");
        let spec = |kind: &Kind, condition: &str| {
            json!({"spec": {"from": kind.gvk(), "to": kind.gvk(), "stages": [{"name": "s", "successConditions": [condition]}]}})
        };
        hub.create(&MIGRATION_CONFIGURATION, "default", "not-watched", spec(&other, "true")).await;
        let told = |reason: &'static str| move |seen: &Object| seen.condition("Ready").is_some_and(|ready| ready.reason == reason);
        hub.until(&MIGRATION_CONFIGURATION, "default", "not-watched", "to be told", told("NotWatched")).await;
        hub.create(&MIGRATION_CONFIGURATION, "default", "second", spec(&other, "true")).await;
        hub.until(&MIGRATION_CONFIGURATION, "default", "second", "to be told", told("Conflict")).await;
        hub.edit(&MIGRATION_CONFIGURATION, "default", "not-watched", spec(&other, "1 +")).await;
        let seen =
            hub.until(&MIGRATION_CONFIGURATION, "default", "not-watched", "to be told", told("Invalid")).await;
        assert!(seen.condition("Ready").unwrap().message.contains("successConditions[0]"), "{seen}");
        hub.delete(&MIGRATION_CONFIGURATION, "default", "not-watched").await;
        hub.until(&MIGRATION_CONFIGURATION, "default", "second", "to take its place", told("NotWatched")).await;
        hub.delete(&MIGRATION_CONFIGURATION, "default", "second").await;
    });
}
