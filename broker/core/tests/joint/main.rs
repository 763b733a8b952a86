//! `decide` and `migrate` on the same clusters in memory, linked as the binary links them: what an origin's last decision
//! says of its move is what its Migration sees, and the Migration's status is what the next decision sees.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dice;
mod hub;
mod ledger;
mod links;
mod property;
mod story;

/// The world of the tests of `decide`, as it is.
#[path = "../decide"]
#[allow(dead_code, unused_imports, reason = "those tests use the rest of it")]
mod shared {
    pub(crate) mod world;
}
