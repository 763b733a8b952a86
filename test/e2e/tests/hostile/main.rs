//! Hostile tenants and providers: what they do is bounded and told, and nobody else feels it.
//!
//! One lab for all of them. Tests that need other flags start a broker of their own beside the shared one, for kinds or
//! clusters that the shared one does not serve. While an attack runs, a [`e2e::Neighbour`] is served.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod capacity;
mod churn;
mod clocks;
mod confirmed;
mod deletion;
mod discovery;
mod filters;
mod hub;
mod identities;
mod keys;
mod memory;
mod namespaces;
mod plurals;
mod policies;
mod quotas;
mod ready;
mod related;
mod secrets;
mod status;
mod system_namespaces;

use e2e::{
    Kind, Neighbour, Scene, Shared, World,
    kind::{CERTIFICATE, WIDGET},
};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::{Mutex, RwLock};

/// A consumer whose owner attacks.
const HOMER: &str = "homer";
/// A consumer whose owner has done nothing.
const BART: &str = "bart";
/// A provider; the first by name.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

/// A kind for which a provider has as many AcceptAPIs as count.
const COSTLY: Kind = Kind::test("Costly", "costlies");

/// Held by tests with a broker whose provider is the hub: two of them would say different things of one AcceptAPI.
static HUB: Mutex<()> = Mutex::const_new(());

/// Held for reading by tests with a broker of their own in the hub, for writing by those with Migrations there: each
/// broker judges all Migrations of its hub.
static MIGRATIONS: RwLock<()> = RwLock::const_new(());

fn arguments(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}

static WORLD: Shared = Shared::new(|| start().boxed_local());

async fn start() -> World {
    let kinds = [CERTIFICATE, WIDGET, COSTLY];
    let world = World::modelled(&[HOMER, BART], &[ARIADNE, THESEUS], &kinds).await;
    world.start_broker(&kinds, &[]).await;
    world
}

/// Nothing attacks: what the other tests say of a neighbour can be so.
#[test]
fn a_neighbour_is_served_beside_an_honest_tenant() {
    WORLD.run(async |world| {
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let health = world.broker().await.as_ref().unwrap().health_address().to_owned();
        let neighbour = Neighbour::start("beside-honest", bart, theseus, &health).await;
        let scene = Scene::new(world, "honest", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        scene.copy(homer, "www", ariadne).await;
        neighbour.until_served(3).await;
        neighbour.end().await;
    });
}
