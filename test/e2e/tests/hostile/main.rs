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
mod keys;
mod memory;
mod namespaces;
mod nested;
mod plurals;
mod policies;
mod quotas;
mod ready;
mod related;
mod secrets;
mod status;

use e2e::{
    Shared, World,
    kind::{CERTIFICATE, VM, WIDGET},
};
use futures::FutureExt as _;

/// A consumer whose owner attacks.
const HOMER: &str = "homer";
/// A consumer whose owner has done nothing.
const BART: &str = "bart";
/// A provider; the first by name.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

static WORLD: Shared = Shared::new(|| start().boxed_local());

async fn start() -> World {
    let kinds = [CERTIFICATE, VM, WIDGET];
    let world = World::without_broker(&[HOMER, BART], &[ARIADNE, THESEUS], &kinds).await;
    world.start_broker(&kinds, &[]).await;
    world
}
