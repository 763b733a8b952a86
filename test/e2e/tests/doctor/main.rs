//! `kubectl broker doctor`, `join` and `leave` on real API servers with RBAC: the clusters are brought in by `join`, a broker
//! serves them with the rights that this gave it, and `doctor` looks at all of it with the same.
//!
//! Nobody runs pods here: the broker is a process of the lab, and its Deployment an object that the tests write.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod command;
mod diagnosis;
mod faults;
mod installation;
mod join;
mod leave;
mod look;
mod program;
mod rights;
mod rounds;
mod said;
mod traces;

use e2e::Shared;
use futures::FutureExt as _;
use installation::Installation;
use tokio::sync::Mutex;

static WORLD: Shared<Installation> = Shared::new(|| Installation::start().boxed_local());

/// What one test puts in or takes out, `doctor` finds for all of them: they take turns, and each leaves all as it was.
static TURN: Mutex<()> = Mutex::const_new(());

/// Runs a test while no other does anything.
fn alone(test: impl AsyncFnOnce(&'static Installation)) {
    WORLD.run(async |at| {
        let _turn = TURN.lock().await;
        test(at).await;
    });
}
