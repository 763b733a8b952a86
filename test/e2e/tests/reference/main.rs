//! What users of the Go broker have, applied as it is: its kinds' shapes, its arguments, its leftovers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod leftovers;
mod mounted;
mod page;
mod shapes;

use e2e::{Controller, Place, World, kind::CERTIFICATE};
use serde_json::Value;

use crate::leftovers::Leftovers;

/// The consumer.
const CONSUMER: &str = "consumer";
/// The provider of `internal.corp`.
const INTERNAL: &str = "internalca";
/// The provider of `corp.com`.
const EXTERNAL: &str = "externalca";
/// Where all of it is.
const NAMESPACE: &str = "default";

/// The documents of a YAML text, as they are written there.
fn documents(yaml: &str) -> Vec<Value> {
    let objects = harness::parse_objects(yaml).unwrap();
    objects.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
}

/// The document of this kind and name.
fn document(yaml: &str, kind: &str, name: &str) -> Value {
    let found = documents(yaml).into_iter().find(|found| found["kind"] == kind && found["metadata"]["name"] == name);
    found.expect("such a document")
}

/// One after the other: the clusters as the Go broker left them, then this broker with the same arguments; and every shape.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_references_installation_goes_on() {
    let world = World::real(&[CONSUMER], &[INTERNAL, EXTERNAL], &[CERTIFICATE]).await;
    let providers: [&Place; 2] = [world.provider(INTERNAL), world.provider(EXTERNAL)];
    let _controllers = providers.map(|provider| Controller::start(provider, &CERTIFICATE, NAMESPACE));
    mounted::accept(&world).await;
    let leftovers = Leftovers::put(&world).await;

    let mut broker = mounted::start(&world).await;
    leftovers.are_placed_anew().await;
    mounted::serves(&world).await;
    mounted::migrates(&world).await;
    mounted::rotates(&world).await;
    leftovers.go(&world).await;
    assert!(!broker.log().contains("panicked"), "{}", broker.log());
    assert_eq!(broker.terminate().await, Some(0));
    shapes::are_taken_as_they_are(world.consumer(CONSUMER)).await;
}
