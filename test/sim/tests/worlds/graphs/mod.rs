//! The production code of the controller of resource graphs, all its machines as the binary joins them, above worlds that go
//! wrong.

mod act;
mod alone;
mod controller;
mod ending;
mod fleet;
mod judge;
mod rgds;
mod scenario;
mod seeded;
mod stage;
mod tale;

use std::{
    collections::BTreeMap,
    env,
    sync::{Arc, Mutex, OnceLock},
};

use scenario::Scenario;
use tale::{Plan, Told, tell};

use crate::{crowd::each, number};

/// All scenarios, or those whose names say so.
fn wanted() -> Vec<Scenario> {
    let only = env::var("SCENARIO").unwrap_or_default();
    let all = alone::all().into_iter().chain(fleet::all());
    all.filter(|scenario| scenario.name.contains(&only)).collect()
}

/// Fault-free stories, each told once: all others of a scenario and a seed are held against them.
#[derive(Default)]
struct Calm(Mutex<BTreeMap<(String, u64), Arc<OnceLock<Told>>>>);

impl Calm {
    fn of(&self, scenario: &Scenario, seed: u64) -> Arc<OnceLock<Told>> {
        let place = Arc::clone(self.0.lock().unwrap().entry((scenario.name.clone(), seed)).or_default());
        place.get_or_init(|| tell(scenario, seed, &Plan::calm()).without_entries());
        place
    }
}

/// Plays scenarios while something goes wrong, and tells the story of the first that does not end as it should.
fn all_hold(plays: &[(Scenario, u64, Plan)]) {
    let calm = Calm::default();
    let failures = each(plays, |(scenario, seed, plan)| {
        let calm = calm.of(scenario, *seed);
        let why = tell(scenario, *seed, plan).check(calm.get()?).err();
        why.map(|why| format!("{}, seed {seed}, {plan:?}: {why}", scenario.name))
    });
    if let Some((scenario, seed, plan)) = failures.first() {
        let told = tell(scenario, *seed, plan);
        println!("{}\n{:?}", told.text(), calm.of(scenario, *seed).get().map(|calm| told.check(calm)));
    }
    println!("{} worlds of graphs, {} went wrong", plays.len(), failures.len());
    assert!(failures.is_empty());
}

#[test]
fn every_scenario_of_graphs_ends_as_it_should() {
    let mut failures = Vec::new();
    for scenario in wanted() {
        let told = tell(&scenario, 1, &Plan::calm());
        if let Err(why) = told.check(&told) {
            let story = if failures.is_empty() { told.text() } else { String::new() };
            println!("{story}\n{}: {why}", scenario.name);
            failures.push(scenario.name);
        } else {
            println!("{}: {} writes, {} entries", scenario.name, told.writes, told.entries().len());
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// Every write of every named scenario is the last one of a process: some of them here, all of them in `make simulate`.
#[test]
fn worlds_that_go_wrong_because_a_process_ends_after_any_write() {
    let all = number("SEEDS").is_some();
    let plays = wanted().into_iter().enumerate().flat_map(|(at, scenario)| {
        // How many there are says a calm story. Leases are written for ever.
        let writes = if !all || scenario.processes > 1 { 60 } else { tell(&scenario, 1, &Plan::calm()).writes };
        let crashes = if all { 1..=writes } else { 1 + at as u64 % 9..=1 + at as u64 % 9 };
        crashes.map(move |write| (scenario.clone(), 1, Plan::crash(write)))
    });
    all_hold(&plays.collect::<Vec<_>>());
}

/// A named scenario for each seed, and one that it makes up.
#[test]
fn worlds_that_go_wrong_as_their_seeds_say() {
    let first = number("FIRST").unwrap_or(1);
    let seeds = match number("SEED") {
        Some(seed) => seed..=seed,
        None => first..=first + number("SEEDS").unwrap_or(3) - 1,
    };
    let named = wanted();
    let plays = seeds.flat_map(|seed| {
        let one = named[usize::try_from(seed).unwrap() % named.len()].clone();
        [one, seeded::scenario(seed)].map(|scenario| (scenario, seed, Plan::stormy(seed)))
    });
    all_hold(&plays.collect::<Vec<_>>());
}
