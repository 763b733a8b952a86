//! What goes wrong, one after the other: each is found, with where and what to do, and no more once it is mended.

mod acceptances;
mod cluster_secrets;
mod hub;
mod members;
mod migrations;
mod objects;
mod programs;

use crate::{alone, rounds::Rounds, said::is_said};

/// As a moment that nobody has waited for.
const LONG_AGO: &str = "2020-01-01T00:00:00Z";

#[test]
fn each_fault_is_found_until_it_is_mended_and_nothing_else_is() {
    alone(async |at| {
        at.until_sound("before the first fault").await;
        let mut rounds = Rounds::new(at);
        Box::pin(cluster_secrets::faults(&mut rounds)).await;
        Box::pin(members::faults(&mut rounds)).await;
        Box::pin(acceptances::faults(&mut rounds)).await;
        Box::pin(objects::faults(&mut rounds)).await;
        Box::pin(migrations::faults(&mut rounds)).await;
        Box::pin(hub::faults(&mut rounds)).await;
        Box::pin(programs::faults(&mut rounds)).await;
        assert!(rounds.count() >= 20, "{} faults", rounds.count());
        is_said(at, "faults.txt", &rounds.told());
    });
}
