//! The broker with the arguments of the reference's example, and kubeconfigs as the kubelet mounts Secrets.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use broker_api::keys;
use e2e::{
    Broker, BrokerSetup, Object, Place, World,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION, SECRET},
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{CONSUMER, EXTERNAL, INTERNAL, NAMESPACE, document};

/// Namespace of the broker.
const SYSTEM: &str = "resource-broker-system";

const JOB: e2e::Kind = e2e::Kind { group: "batch", version: "v1", kind: "Job", plural: "jobs" };

/// An AcceptAPI as the Go broker stored it, at each provider.
pub(crate) async fn accept(world: &World) {
    for (provider, domain) in [(INTERNAL, "internal.corp"), (EXTERNAL, "corp.com")] {
        let mut stored = document(include_str!("accept_apis.yaml"), "AcceptAPI", "stored");
        stored["spec"]["filters"][0]["suffix"] = json!(domain);
        world.provider(provider).try_create(&ACCEPT_API, &stored).await.unwrap();
    }
}

fn folder(world: &World, cluster: &str) -> PathBuf {
    world.lab.directory().join("kubeconfigs").join(cluster)
}

/// Writes what a volume of a Secret with the key `kubeconfig` looks like, in this version of it.
fn mount(world: &World, cluster: &str, place: &Place, (version, user): (&str, &str)) {
    let folder = folder(world, cluster);
    let content = folder.join(format!("..{version}"));
    fs::create_dir_all(&content).unwrap();
    place.cluster.write_kubeconfig(user, &content.join("kubeconfig")).unwrap();
    let _ = symlink("..data/kubeconfig", folder.join("kubeconfig"));
    symlink(content.file_name().unwrap(), folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

/// Mounts, and starts the broker that the reference's `Broker` describes.
pub(crate) async fn start(world: &World) -> Broker {
    for (cluster, place) in [
        ("platform", &world.hub),
        (CONSUMER, world.consumer(CONSUMER)),
        (INTERNAL, world.provider(INTERNAL)),
        (EXTERNAL, world.provider(EXTERNAL)),
    ] {
        mount(world, cluster, place, ("2026_1", "broker"));
    }
    let asked = document(include_str!("brokers.yaml"), "Broker", "resource-broker");
    let root = world.lab.directory().join("kubeconfigs").display().to_string();
    let args = asked["spec"]["extraArgs"].as_array().unwrap().iter();
    let args = args.map(|arg| arg.as_str().unwrap().replace("/kubeconfigs", &root));
    // What docs/upgrade.md adds: a namespace for the key, where no stage runs; and the one where configurations are.
    let added = [format!("--namespace={SYSTEM}"), format!("--configuration-namespace={NAMESPACE}")];
    world.hub.make_namespace(SYSTEM).await;
    let args = args.chain(added).collect();
    let broker = Broker::start(&world.lab, &BrokerSetup { name: "reference", args, ..BrokerSetup::default() }).await;
    let log = broker.log();
    assert_eq!(log.matches("--zap-devel has no effect").count(), 1, "{log}");
    broker
}

/// A Certificate of the consumer.
pub(crate) async fn certificate(world: &World, name: &str, fqdn: &str) -> Object {
    world.consumer(CONSUMER).create(&CERTIFICATE, NAMESPACE, name, json!({"spec": {"fqdn": fqdn}})).await
}

/// Waits until a Certificate is served by `provider`, its Secret included.
pub(crate) async fn until_served(world: &World, name: &str, provider: &str) -> Object {
    let consumer = world.consumer(CONSUMER);
    let copy = world.provider(provider).until_there(&CERTIFICATE, NAMESPACE, &consumer.copy_name(name)).await;
    let there = |seen: &Object| seen.annotation(keys::PROVIDER_CLUSTER) == Some(provider);
    consumer.until(&CERTIFICATE, NAMESPACE, name, "to say who serves it", there).await;
    let available = |seen: &Object| seen.text("/status/status") == "Available";
    consumer.until(&CERTIFICATE, NAMESPACE, name, "to be available", available).await;
    copy
}

/// The main job.
pub(crate) async fn serves(world: &World) {
    certificate(world, "fresh", "fresh.internal.corp").await;
    until_served(world, "fresh", INTERNAL).await;
    world.consumer(CONSUMER).until_there(&SECRET, NAMESPACE, "fresh-key").await;
    for provider in [INTERNAL, EXTERNAL] {
        let ready = |seen: &Object| seen.has("Ready", "True", "Ready") && seen.finalizers().is_empty();
        let what = "to be in use, without the Go broker's finalizer";
        world.provider(provider).until(&ACCEPT_API, NAMESPACE, "stored", what, ready).await;
    }
}

/// Waits for the Job of a stage, in the namespace of the Migration, and does what its controller would.
async fn finish(world: &World, id: &str, key: &str) -> Object {
    let job = world.hub.until_there(&JOB, NAMESPACE, &format!("{id}-{key}")).await;
    world.hub.set_status(&JOB, NAMESPACE, job.name(), json!({"succeeded": 1})).await;
    job
}

/// The move of [`serves`]' object to the other provider, through the stages of the reference's configuration.
pub(crate) async fn migrates(world: &World) {
    let (hub, consumer) = (&world.hub, world.consumer(CONSUMER));
    let text = include_str!("migrations.yaml");
    for name in ["no-stages", "certificates"] {
        let asked = document(text, "MigrationConfiguration", name);
        hub.try_create(&MIGRATION_CONFIGURATION, &asked).await.unwrap();
    }
    let ready = |seen: &Object| seen.has("Ready", "True", "InUse");
    hub.until(&MIGRATION_CONFIGURATION, NAMESPACE, "certificates", "to be ready", ready).await;
    consumer.edit(&CERTIFICATE, NAMESPACE, "fresh", json!({"spec": {"fqdn": "fresh.corp.com"}})).await;

    let ours = wait_for(e2e::DEADLINE, "the Migration", async || {
        let all = hub.list(&MIGRATION, NAMESPACE).await;
        let found = all.into_iter().find(|seen| seen.name().starts_with("certificate-"));
        found.filter(|seen| !seen.text("/status/id").is_empty()).ok_or("none yet")
    });
    let migration = ours.await.unwrap();
    let id = migration.text("/status/id").to_owned();
    let dump = finish(world, &id, "dump").await;
    assert_eq!((dump.label("app"), dump.label(keys::MIGRATION_STAGE)), (Some("dump"), Some("dump")), "{dump}");
    finish(world, &id, "restore").await;
    let over = |seen: &Object| seen.text("/status/state") == "CutoverCompleted";
    let over = hub.until(&MIGRATION, NAMESPACE, migration.name(), "to complete", over).await;
    let stages = over.at("/status/stages").as_array().unwrap().iter().map(|stage| stage["name"].clone());
    assert_eq!(stages.collect::<Vec<Value>>(), ["dummy-configmap", "dump", "restore"]);
    until_served(world, "fresh", EXTERNAL).await;
    world.provider(INTERNAL).until_gone(&CERTIFICATE, NAMESPACE, &consumer.copy_name("fresh")).await;
    for (kind, key) in [(JOB, "dump"), (JOB, "restore"), (CONFIG_MAP, "dummy")] {
        hub.until_gone(&kind, NAMESPACE, &format!("{id}-{key}")).await;
    }
}

/// New credentials in a mounted Secret are taken without a restart.
pub(crate) async fn rotates(world: &World) {
    let provider = world.provider(INTERNAL);
    let audit = provider.cluster.audit();
    let before = audit.settle().await.unwrap();
    mount(world, INTERNAL, provider, ("2026_2", "broker-2"));
    let used = wait_for(e2e::DEADLINE, "the new credentials to be used", async || {
        let requests = audit.requests_since(before)?.of("broker-2").on(CERTIFICATE.plural);
        anyhow::ensure!(!requests.is_empty(), "no request yet");
        Ok(())
    });
    used.await.unwrap();
    certificate(world, "after-rotation", "after-rotation.internal.corp").await;
    until_served(world, "after-rotation", INTERNAL).await;
}
