//! Objects leave a provider for another, in a world that all these tests share, without a MigrationConfiguration.
//!
//! The patience of its broker is short: two moves at once between two providers, 2 s for a new copy to become ready, for
//! a provider that was taken out of the configuration, and for Migrations that have ended. A test that breaks something, or counts the moves of all, holds
//! [`PEACE`] for writing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bounds;
mod expiry;
mod leaving;
mod lost;
mod rebalance;
mod returning;
mod staying;

use std::{fs, path::PathBuf};

use e2e::{
    Broker, BrokerSetup, Controller, Object, Place, Scene, Shared, Traveller, World,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::RwLock;

/// A consumer.
const HOMER: &str = "homer";
/// A provider.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";
/// A third provider.
const ICARUS: &str = "icarus";

static WORLD: Shared = Shared::new(|| start().boxed_local());

/// Whether everything is in order.
static PEACE: RwLock<()> = RwLock::const_new(());

async fn start() -> World {
    let world = World::modelled(&[HOMER], &[ARIADNE, THESEUS, ICARUS], &[CERTIFICATE]).await;
    fs::create_dir_all(folder(&world)).unwrap();
    for provider in world.providers() {
        engage(&world, provider);
    }
    let directory = folder(&world).display().to_string();
    let seconds = ["--ready-timeout", "--orphan-grace", "--migration-ttl"].into_iter().flat_map(|flag| [flag, "2s"]);
    let patience = ["--max-moves", "2"].into_iter().chain(seconds).map(str::to_owned);
    let args = ["--provider-kubeconfig-dir".to_owned(), directory].into_iter().chain(patience).collect();
    let setup = BrokerSetup { name: "broker", kinds: &[CERTIFICATE], args, providers: Vec::new(), ..world.setup() };
    let broker = Broker::start(&world.lab, &setup).await;
    *world.broker().await = Some(broker);
    world
}

fn folder(world: &World) -> PathBuf {
    world.lab.directory().join("providers")
}

/// The kubeconfig of a provider.
fn file(world: &World, provider: &Place) -> PathBuf {
    folder(world).join(format!("{}.kubeconfig", provider.name()))
}

/// Puts a provider into the configuration.
fn engage(world: &World, provider: &Place) {
    // Before the kubeconfig, so that it is never without.
    fs::write(folder(world).join(format!("{}.policy.yaml", provider.name())), "allowRebalance: true\n").unwrap();
    provider.cluster.write_kubeconfig("broker", &file(world, provider)).unwrap();
}

/// The consumer, then the providers.
fn cast(world: &World) -> [&Place; 4] {
    [world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS), world.provider(ICARUS)]
}

/// Accepts what begins so, beside being of the scene's domain.
fn prefix(prefix: &str) -> Value {
    json!({"filters": [{"key": "fqdn", "prefix": prefix}]})
}

/// Deletes an AcceptAPI.
async fn reject(provider: &Place, accept: &str) {
    provider.delete(&ACCEPT_API, ACCEPT_NAMESPACE, accept).await;
}

/// Edits an AcceptAPI.
async fn change(provider: &Place, accept: &str, patch: Value) {
    provider.edit(&ACCEPT_API, ACCEPT_NAMESPACE, accept, patch).await;
}

/// A Certificate that this provider serves, all the way; its `fqdn` begins with its name.
async fn served<'a>(
    scene: &'a Scene<'_>,
    homer: &'a Place,
    name: &'a str,
    provider: &Place,
) -> (Traveller<'a>, Object) {
    scene.certificate(homer, name).await;
    let traveller = Traveller::certificate(scene, homer, name);
    traveller.until_served_by(provider).await;
    let copy = traveller.copy(provider).await;
    (traveller, copy)
}

/// Controllers of the scene at these providers.
fn controllers(scene: &Scene<'_>, providers: &[&Place]) -> Vec<Controller> {
    providers.iter().map(|provider| Controller::start(provider, &CERTIFICATE, scene.ns())).collect()
}

/// Says as the provider's controller where a copy stands.
async fn tell(provider: &Place, traveller: &Traveller<'_>, status: &str) {
    let copy = traveller.copy_name();
    provider.set_status(&traveller.kind, traveller.ns, &copy, json!({"status": status})).await;
}

/// Whether the object shows this status.
fn shows(status: &str) -> impl Fn(&Object) -> bool {
    move |seen| seen.text("/status/status") == status
}
