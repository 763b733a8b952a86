//! ResourceGraphDefinitions and their instances, as users of kro know them, on real API servers.
//!
//! The controller has the rights that kro's own installation gives it, and its requests are told by its user's name.
//! [`CALM`] is a stage that all tests share and nobody breaks: each has its own namespace, API group and RGDs ([`Scene`]).
//! [`BROKEN`] is one for tests that count everything or break something, one at a time. On [`HOSTILE`] people attack.
//!
//! [`Scene`]: scene::Scene
// What a story writes out is handed over as it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod applyset;
mod author;
mod collections;
mod conditions;
mod conflicts;
mod crds;
mod deletion;
mod external;
mod faults;
mod first;
mod flags;
mod going;
mod hostile;
mod idle;
mod include;
mod items;
mod nesting;
mod revisions;
mod scene;
mod stage;
mod status;
mod suites;
mod takeover;
mod tree;
mod types;
mod waiting;
mod writes;

use e2e::{
    Shared,
    graphs::{CRDS, controller, kinds, rgd, rights},
};
use futures::FutureExt as _;
use stage::Stage;
use tokio::sync::Mutex;

/// The stage that nobody breaks.
static CALM: Shared<Stage> = Shared::new(|| Stage::start("calm", false).boxed_local());

/// The stage that tests break.
static BROKEN: Shared<Stage> = Shared::new(|| Stage::start("broken", true).boxed_local());

/// The stage where people attack.
static HOSTILE: Shared<Stage> = Shared::new(|| Stage::start("hostile", false).boxed_local());

/// Held by whoever uses [`BROKEN`].
static ALONE: Mutex<()> = Mutex::const_new(());
