//! Whatever people, providers and faults do, in whatever order: each write keeps the rules of `ledger`, and once all is
//! well again nothing is left half done.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

use crate::joint::{
    dice::{Dice, Event},
    story::Story,
};

fn run(setting: usize, events: &[Event]) {
    let mut story = Story::new(setting);
    for event in events {
        story.happen(event);
    }
    story.heal();
    story.check();
}

fn ends_well(setting: usize, seeds: Vec<u64>) -> Result<(), TestCaseError> {
    let events: Vec<Event> = seeds.into_iter().map(|seed| Dice(seed).event()).collect();
    let ending = catch_unwind(AssertUnwindSafe(|| run(setting, &events)));
    prop_assert!(ending.is_ok(), "configuration {setting}, after {events:#?}");
    Ok(())
}

/// The same cases in every run.
fn cases(cases: u32, seed: u64) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() }
}

// Two, for they run at the same time.
proptest! {
    #![proptest_config(cases(1_400, 1))]

    #[test]
    fn both_machines_together_end_well(setting in 0_usize..6, seeds in prop::collection::vec(any::<u64>(), 1..26)) {
        ends_well(setting, seeds)?;
    }
}

proptest! {
    #![proptest_config(cases(600, 2))]

    #[test]
    fn both_machines_together_end_well_after_long_stories(
        setting in 0_usize..6,
        seeds in prop::collection::vec(any::<u64>(), 26..50),
    ) {
        ends_well(setting, seeds)?;
    }
}
