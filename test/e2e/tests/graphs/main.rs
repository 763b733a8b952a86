//! ResourceGraphDefinitions and their instances, as users of kro know them, on real API servers.
//!
//! The controller has the rights that kro's own installation gives it, and its requests are told by its user's name.
//! [`CALM`] is a stage that all tests share and nobody breaks: each has its own namespace, API group and RGDs ([`Scene`]).
//! [`BROKEN`] is one for tests that count everything or break something, one at a time.
//!
//! [`Scene`]: scene::Scene
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod conditions;
mod controller;
mod first;
mod kinds;
mod rgd;
mod rights;
mod scene;
mod stage;
mod tree;

use e2e::Shared;
use futures::FutureExt as _;
use stage::Stage;

/// The stage that nobody breaks.
static CALM: Shared<Stage> = Shared::new(|| Stage::start("calm", false).boxed_local());
