//! How much the broker asks of API servers, counted from their audit logs.
//!
//! Who of two brokers asks is told by their users: one writes, the other takes over ([`leader`]).
//!
//! Events are told at a rate of their own and are counted apart. The tests of a binary share a world, so those that
//! count everything hold [`ALONE`].
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hand_over;
mod leader;
mod restart;
mod steps;

use e2e::{
    Kind, Place, Shared, World,
    kind::{ACCEPT_API, CERTIFICATE},
};
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::RwLock;

/// The consumer.
const HOMER: &str = "homer";
/// The provider.
const THESEUS: &str = "theseus";

/// A kind of which each side prunes something that the other has, and of which the provider defaults a field.
const GADGET: Kind = Kind::test("Gadget", "gadgets");

static WORLD: Shared = Shared::new(|| start().boxed_local());

/// Written by a test that counts everything, read by those that cause work.
static ALONE: RwLock<()> = RwLock::const_new(());

fn gadget(spec: Value, status: Value) -> String {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    GADGET.crd_with(&json!({"spec": object(spec), "status": object(status)}), true).to_string()
}

async fn start() -> World {
    let world = World::modelled(&[HOMER], &[THESEUS], &[CERTIFICATE]).await;
    let text = || json!({"type": "string"});
    let list = || json!({"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}});
    let consumer = gadget(
        json!({"color": text(), "secretly": text(), "ports": list()}),
        json!({"phase": text(), "shade": {"type": "string", "default": "plain"}}),
    );
    let provider = gadget(
        json!({"color": text(), "ports": list(), "tier": {"type": "string", "default": "gold"}, "zone": text()}),
        json!({"phase": text(), "internal": text()}),
    );
    tokio::join!(world.consumer(HOMER).apply(&consumer), world.provider(THESEUS).apply(&provider));
    world.start_broker(&[CERTIFICATE, GADGET], &[]).await;
    world
}

/// All places of the world.
fn places(world: &World) -> [&Place; 3] {
    [&world.hub, world.consumer(HOMER), world.provider(THESEUS)]
}

/// Whether an AcceptAPI says that it is in use and holds so many objects.
async fn until_placed(provider: &Place, accept: &str, placed: u64) {
    let holds = |seen: &e2e::Object| seen.at("/status/placed") == placed && seen.has("Ready", "True", "Ready");
    provider.until(&ACCEPT_API, "default", accept, &format!("placed {placed}"), holds).await;
}
