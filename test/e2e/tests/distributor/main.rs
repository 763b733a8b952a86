//! One RGD, every cluster: a hub, and spokes that come, go and fail.
// What a story writes out is handed over as it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod clocks;
mod command_line;
mod completed;
mod conflicts;
mod everywhere;
mod fields;
mod fleet;
mod leaving;
mod nested;
mod others;
mod outages;
mod reasons;
mod waves;

use e2e::{
    Shared,
    graphs::{CRDS, controller, kinds, rgd, rights},
};
use fleet::Fleet;
use futures::FutureExt as _;

/// A hub and its spokes.
static FLEET: Shared<Fleet> = Shared::new(|| Fleet::start().boxed_local());
