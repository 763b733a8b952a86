//! The model says what a real API server says: the same requests are sent to both, and all answers and all events of
//! watches are compared, field by field. What cannot be the same (uids, versions, times) is compared by what is the same in it,
//! and wording is left aside.
//!
//! `SIM_SEQUENCES` is how many random sequences there are (100), `SIM_SEED` what they follow from, `SIM_ONLY` a part of the
//! names of those that are run.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canonical;
mod difference;
mod random;
mod sequence;
mod side;
mod stage;
mod topics;

use stage::Stage;

/// One test for each topic.
macro_rules! topics {
    ($($topic:ident),* $(,)?) => {
        $(
            #[test]
            fn $topic() {
                Stage::run(topics::$topic::sequences());
            }
        )*
    };
}

topics![
    applies,
    apply_lists,
    config_maps,
    creation,
    definitions,
    deletion,
    discovery,
    events,
    leases,
    lists,
    merges,
    metadata,
    namespaces,
    roles,
    schemas,
    secrets,
    statuses,
    updates,
    watches,
];

#[test]
fn owners() {
    Stage::run_managed(topics::owners::sequences());
}

#[test]
fn forgetting() {
    Stage::run_forgetful(topics::forgetting::sequence());
}

#[test]
fn random_sequences() {
    Stage::run(random::sequences());
}
