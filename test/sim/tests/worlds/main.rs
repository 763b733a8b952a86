//! The broker's production code, all its machines as the binary joins them, above worlds that go wrong.
//!
//! `make simulate` runs as many worlds as one likes; `SEED=k` tells the story of one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ending;
mod judge;
mod person;
mod program;
mod provider;
mod stage;
mod story;

use std::{env, time::Duration};

use story::{Plan, Told, tell};

fn read(name: &str) -> Option<u64> {
    env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().expect("a number"))
}

/// The fault-free story that all others of a seed are held against.
fn calm(seed: u64) -> Told {
    let told = tell(seed, &Plan::calm());
    told.hold(&told);
    told
}

#[test]
fn the_same_seed_tells_the_same_story() {
    for seed in 1..=5 {
        let (first, second) = (calm(seed), calm(seed));
        for (one, other) in first.entries.iter().zip(&second.entries) {
            assert!(one == other, "seed {seed}: {one}\nand then: {other}\n{one:?}\n{other:?}");
        }
        assert_eq!(first.entries.len(), second.entries.len());
    }
}

#[test]
fn a_broker_that_crashes_after_any_write_gets_to_the_same_end() {
    let calm = calm(1);
    assert!(calm.writes > 10, "{}", calm.writes);
    for write in 1..=calm.writes {
        tell(1, &Plan::crash(write)).hold(&calm);
    }
}

/// An empty namespace once stayed for ever where somebody edited it while it was being removed.
#[test]
fn whoever_comes_too_late_gets_there_in_the_end() {
    for seed in 1..=6 {
        tell(seed, &Plan::contested()).hold(&calm(seed));
    }
}

/// What is waited for too short a time is asked for in vain for ever.
#[test]
fn what_takes_long_is_done_even_so() {
    tell(1, &Plan::slow(Duration::from_secs(30))).hold(&calm(1));
}

#[test]
fn worlds_that_go_wrong_get_to_the_same_end() {
    let seeds: Vec<u64> = match read("SEED") {
        Some(seed) => vec![seed],
        None => (1..=read("SEEDS").unwrap_or(10)).collect(),
    };
    let mut failures = Vec::new();
    for seed in &seeds {
        let (calm, told) = (calm(*seed), tell(*seed, &Plan::stormy(*seed)));
        if read("SEED").is_some() {
            println!("{}\n\n{}\n", calm.text(), told.text());
        }
        failures.extend(told.check(&calm).err().map(|why| (*seed, told, why)));
    }
    for (seed, told, why) in &failures {
        let story = if failures[0].0 == *seed { told.text() } else { String::new() };
        println!("{story}\nseed {seed}: {why}\nthe story of it: make simulate SEED={seed}");
    }
    println!("{} worlds, {} went wrong", seeds.len(), failures.len());
    assert!(failures.is_empty());
}
