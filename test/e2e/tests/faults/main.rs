//! Clusters, credentials, kinds and the broker itself fail and come back; nothing is lost, moved or deleted by it.
//!
//! A test that breaks something holds [`PEACE`] for writing; tests that only need everything in order read it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod credentials;
mod fight;
mod forced;
mod hung;
mod kinds;
mod load;
mod outage;

use e2e::{
    Kind, Object, Place, Shared, World,
    kind::{CERTIFICATE, WIDGET},
};
use futures::FutureExt as _;
use serde_json::json;
use tokio::sync::RwLock;

/// A consumer.
const HOMER: &str = "homer";
/// Another consumer.
const BART: &str = "bart";
/// A provider; the first by name.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

/// A kind whose CRD comes late.
const LATE: Kind = Kind::test("Late", "lates");
/// A kind whose CRD goes and comes again.
const FLEETING: Kind = Kind::test("Fleeting", "fleetings");

/// The broker's finalizer.
const FINALIZER: &str = "broker.platform-mesh.io/generic-finalizer";
/// Annotation on an origin: which provider serves it.
const PROVIDER: &str = "broker.platform-mesh.io/provider-cluster";

static WORLD: Shared = Shared::new(|| start().boxed_local());

/// Whether everything is in order.
static PEACE: RwLock<()> = RwLock::const_new(());

async fn start() -> World {
    let world = World::modelled(&[HOMER, BART], &[ARIADNE, THESEUS], &[CERTIFICATE, WIDGET]).await;
    world.start_broker(&[CERTIFICATE, WIDGET, LATE, FLEETING], &[]).await;
    world
}

/// Both consumers, then both providers.
fn cast(world: &World) -> [&Place; 4] {
    [world.consumer(HOMER), world.consumer(BART), world.provider(ARIADNE), world.provider(THESEUS)]
}

/// Whether the object is placed and said so.
fn placed(seen: &Object) -> bool {
    seen.has("Brokered", "True", "Placed")
}

/// Says as the provider's controller that a copy is available.
async fn make_available(provider: &Place, copy: &Object) {
    provider.set_status(&CERTIFICATE, copy.namespace(), copy.name(), json!({"status": "Available"})).await;
}

/// Whether an origin shows that it is available.
fn available(seen: &Object) -> bool {
    seen.text("/status/status") == "Available"
}
