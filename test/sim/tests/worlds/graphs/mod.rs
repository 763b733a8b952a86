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

/// All scenarios, or those whose names say so. Those with two processes write leases all the time: they take long.
fn wanted() -> Vec<Scenario> {
    let only = env::var("SCENARIO").unwrap_or_default();
    let all = alone::all().into_iter().chain(fleet::all());
    let takes_long = |scenario: &Scenario| scenario.args.contains(&"--leader-elect");
    all.filter(|scenario| scenario.name.contains(&only) && (simulates() || !takes_long(scenario))).collect()
}

/// Whether as many worlds are wanted as there can be.
fn simulates() -> bool {
    number("SEEDS").or(number("SEED")).is_some()
}

/// Fault-free stories, each told once: all others of a scenario and a seed are held against them.
#[derive(Default)]
struct Calm(Mutex<BTreeMap<(String, u64), Arc<Once>>>);

/// One that is told when it is first asked for.
type Once = OnceLock<Told>;

impl Calm {
    fn of(&self, scenario: &Scenario, seed: u64) -> Arc<Once> {
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

/// Every other one here, all of them in `make simulate`.
#[test]
fn worlds_that_go_wrong_nowhere_end_as_each_scenario_of_graphs_says() {
    if number("SEED").is_some() {
        return;
    }
    let mut failures = Vec::new();
    for scenario in wanted().into_iter().step_by(if simulates() { 1 } else { 2 }) {
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
    if number("SEED").is_some() {
        return;
    }
    let (all, every) = if simulates() { (true, 1) } else { (false, 6) };
    let plays = wanted().into_iter().enumerate().step_by(every).flat_map(|(at, scenario)| {
        // How many there are says a calm story. Leases are written for ever.
        let writes = if !all || scenario.processes.len() > 1 { 60 } else { tell(&scenario, 1, &Plan::calm()).writes };
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
        None => first..=first + number("SEEDS").unwrap_or(1) - 1,
    };
    let named = wanted();
    let plays = seeds.flat_map(|seed| {
        let one = named[usize::try_from(seed).unwrap() % named.len()].clone();
        [one, seeded::scenario(seed)].map(|scenario| (scenario, seed, Plan::stormy(seed)))
    });
    let plays: Vec<_> = plays.collect();
    for (scenario, seed, plan) in plays.iter().filter(|_| number("SEED").is_some()) {
        println!("{}\n", tell(scenario, *seed, plan).text());
    }
    all_hold(&plays);
}

/// What was found once by its seed, and mended.
#[test]
fn what_went_wrong_once_does_not_again() {
    // A CRD that could not be read for a moment was taken for one that says nothing, and the RGD's own CRD was made by that.
    let found = [("nested", 10)];
    let plays = found.into_iter().flat_map(|(name, seed)| {
        let all = alone::all().into_iter().chain(fleet::all());
        all.filter(move |scenario| scenario.name == name).map(move |scenario| (scenario, seed, Plan::stormy(seed)))
    });
    all_hold(&plays.collect::<Vec<_>>());
}
