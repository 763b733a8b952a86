//! The broker's production code, all its machines as the binary joins them, above worlds that go wrong.
//!
//! `make simulate` runs as many worlds as one likes; `SEED=k` tells the story of one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod act;
mod broker;
mod chance;
mod crowd;
mod customer;
mod director;
mod ending;
mod graphs;
mod judge;
mod mover;
mod person;
mod plan;
mod program;
mod provider;
mod scenarios;
mod shrink;
mod stage;
mod story;

use std::{env, time::Duration};

use sim::Weather;

use crate::{
    crowd::crowd,
    plan::Plan,
    shrink::{shrink, try_out},
    story::{Told, tell},
};

fn read(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

fn number(name: &str) -> Option<u64> {
    read(name).map(|text| text.parse().expect("a number"))
}

/// The fault-free story that all others of a plan are held against.
fn calm(plan: &Plan) -> Told {
    let told = tell(&plan.calm());
    told.hold(&told);
    told
}

fn hold_same(plan: &Plan) {
    let (first, second) = (tell(plan), tell(plan));
    for (one, other) in first.entries.iter().zip(&second.entries) {
        assert!(one == other, "{plan}{one}\nand then: {other}\n{one:?}\n{other:?}");
    }
    assert_eq!(first.entries.len(), second.entries.len(), "{plan}");
}

#[test]
fn the_same_seed_tells_the_same_story() {
    for seed in 1..=number("TWICE").unwrap_or(2) {
        hold_same(&Plan::simple(seed));
        hold_same(&Plan::drawn(seed));
    }
}

/// An empty namespace once stayed for ever where somebody edited it while it was being removed.
#[test]
fn whoever_comes_too_late_gets_there_in_the_end() {
    for seed in 1..=3 {
        let contested = Weather { conflicts: 500, ..Weather::CALM };
        let plan = Plan::simple(seed);
        tell(&plan.clone().in_weather(contested)).hold(&calm(&plan));
    }
}

/// What is waited for too short a time is asked for in vain for ever.
#[test]
fn what_takes_long_is_done_even_so() {
    let plan = Plan::simple(1);
    let slow = Weather { slow: Duration::from_secs(30), ..Weather::CALM };
    tell(&plan.clone().in_weather(slow)).hold(&calm(&plan));
}

#[test]
fn worlds_that_go_wrong_get_to_the_same_end() {
    if let Some(seed) = number("SEED") {
        return tell_one(seed);
    }
    let first = number("FIRST").unwrap_or(1);
    let seeds: Vec<u64> = (first..first + number("SEEDS").unwrap_or(8)).collect();
    let failures = crowd(&seeds);
    if let Some(first) = failures.first().and_then(|seed| try_out(&Plan::drawn(*seed))) {
        println!("{}", shrink(first).text());
    }
    println!("{} worlds, {} went wrong: {failures:?}", seeds.len(), failures.len());
    assert!(failures.is_empty());
}

/// The story of one seed, as it is or without some of its parts.
fn tell_one(seed: u64) {
    let without = read("WITHOUT").unwrap_or_default();
    let plan = Plan::drawn(seed).without(without.split_whitespace());
    let (calm, told) = (tell(&plan.calm()), tell(&plan));
    println!("{}\n\n{}\n", calm.text(), told.text());
    if let Err(why) = told.check(&calm) {
        panic!("{why}");
    }
}
