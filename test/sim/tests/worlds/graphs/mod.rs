//! The production code of the controller of resource graphs, all its machines as the binary joins them, above worlds that go
//! wrong.

mod act;
mod alone;
mod controller;
mod ending;
mod fleet;
mod judge;
mod plan;
mod play;
mod rgds;
mod scenario;
mod seeded;
mod stage;
mod tale;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use plan::Plan;
use play::{Play, calm, named, scenario};
use scenario::Scenario;
use tale::tell;

use crate::{
    crowd::{each, goes_wrong},
    number,
    plan::PEOPLE,
    read, same_story,
    shrink::{Cut as _, shrink},
};

/// All scenarios, or the one that is named. Those with two processes write leases all the time: they take long.
fn wanted() -> Vec<Scenario> {
    if let Some(name) = read("SCENARIO") {
        return scenario(&name).into_iter().collect();
    }
    let takes_long = |scenario: &Scenario| scenario.args.contains(&"--leader-elect");
    named().filter(|scenario| simulates() || !takes_long(scenario)).collect()
}

/// Whether as many worlds are wanted as there can be.
fn simulates() -> bool {
    number("SEEDS").or(number("SEED")).is_some()
}

/// So many tellings of a story are held against one in which nothing goes wrong: of all stories together there is no room.
const TOGETHER: usize = 16;

/// The places of those that are the same story.
fn by_story(plays: &[Play]) -> Vec<Vec<usize>> {
    let mut stories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, play) in plays.iter().enumerate() {
        stories.entry(&play.scenario.name).or_default().push(at);
    }
    let mut some: Vec<Vec<usize>> =
        stories.values().flat_map(|places| places.chunks(TOGETHER).map(<[usize]>::to_vec)).collect();
    some.sort_unstable();
    some
}

/// Plays scenarios while something goes wrong, and tells the story of the first that does not end as it should.
fn all_hold(plays: &[Play]) {
    let failed = Mutex::new(BTreeSet::new());
    each(&by_story(plays), |places| {
        let twin = OnceCell::new();
        for at in places {
            let play = &plays[*at];
            if goes_wrong(*at, || play.check(twin.get_or_init(|| calm(&play.scenario, play.seed)))) {
                failed.lock().unwrap().insert(*at);
            }
        }
        None
    });
    let failed = failed.into_inner().unwrap();
    if let Some(first) = failed.first().map(|at| &plays[*at]) {
        let cut = shrink(first.clone());
        println!(
            "{}",
            cut.unwrap_or_else(|| format!("held against its own twin nothing is wrong: {}", first.command()))
        );
    }
    println!("{} worlds of graphs, {} went wrong", plays.len(), failed.len());
    assert!(failed.is_empty());
}

/// Every other one here, all of them in `make simulate`.
#[test]
fn worlds_that_go_wrong_nowhere_end_as_each_scenario_of_graphs_says() {
    if number("SEED").or(number("CRASH")).is_some() {
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
        // How many there are says a calm story.
        let some = 1 + at as u64 % 9;
        let crashes = if all { 1..=tell(&scenario, 1, &Plan::calm()).writes } else { some..=some };
        let crashes = number("CRASH").map_or(crashes, |write| write..=write);
        crashes.map(move |write| Play::new(scenario.clone(), 1, Plan::crash(write)))
    });
    all_hold(&plays.collect::<Vec<_>>());
}

/// A scenario for each seed: by turns one with a name and one that it makes up, both where not many are wanted; or only the
/// one that is named, or without what is taken out.
#[test]
fn worlds_that_go_wrong_as_their_seeds_say() {
    if number("CRASH").is_some() {
        return;
    }
    let first = number("FIRST").unwrap_or(PEOPLE);
    let seeds = match number("SEED") {
        Some(seed) => seed..=seed,
        None => first..=first + number("SEEDS").unwrap_or(1) - 1,
    };
    let without = read("WITHOUT").unwrap_or_default();
    let (named, only, both) = (wanted(), read("SCENARIO").is_some(), number("SEEDS").is_none());
    assert!(!(named.is_empty() && number("SEED").is_some()), "graphs have no such scenario");
    let mut last: Option<(u64, Scenario)> = None;
    let plays = seeds.flat_map(|seed| {
        let turn = seeded::story(seed) % 2;
        let one = named.get(usize::try_from(seed).unwrap() % named.len().max(1)).filter(|_| only || both || turn == 0);
        let one = one.cloned();
        let made_up = (!only && (both || turn == 1)).then(|| {
            let story = seeded::story(seed);
            let of = last.take().filter(|(of, _)| *of == story);
            let (_, scenario) = last.insert(of.unwrap_or_else(|| (story, seeded::scenario(story))));
            scenario.clone()
        });
        let plan = Plan::stormy(seed).leaving_out(without.split_whitespace());
        one.into_iter().chain(made_up).map(move |scenario| Play::new(scenario, seed, plan.clone()))
    });
    let plays: Vec<_> = plays.collect();
    for play in plays.iter().filter(|_| number("SEED").is_some()) {
        println!("{}\n", play.tell().text());
    }
    all_hold(&plays);
}

#[test]
fn the_same_seed_tells_the_same_story_of_graphs() {
    for seed in 1..=number("TWICE").unwrap_or(2) {
        let play = Play::new(seeded::scenario(seeded::story(seed)), seed, Plan::stormy(seed));
        same_story(&play.command(), play.tell().entries(), play.tell().entries());
    }
}

/// What was found once by its seed, and mended.
#[test]
fn what_went_wrong_once_does_not_again() {
    // A CRD that could not be read for a moment was taken for one that says nothing, and the RGD's own CRD was made by that.
    // Revisions that were listed before their RGD was known to be gone kept their finalizer. A spoke whose Secret said, while it
    // was away, that it may be any cluster was ready without a connection. A rollout said last what it could of an RGD that went.
    // What was in ERROR when a revision was taken back was what could be seen at that moment.
    // Each is told as it was found: before any world wrote one thing at a time.
    let as_found = |plan: Plan| plan.leaving_out(["narrow"]);
    let found = [("nested", 10), ("edits", 32), ("secrets", 517), ("leaving, Delete", 1734), ("taken back", 2193)];
    let plays = found.into_iter().flat_map(|(name, seed)| {
        named().filter(move |scenario| scenario.name == name).map(move |scenario| (scenario, seed))
    });
    let plays = plays.map(|(scenario, seed)| Play::new(scenario, seed, as_found(Plan::windy(seed))));
    // A child was deleted that somebody had made his while its cluster was lost. What was told of an instance while its CRD
    // changed lacked the new default for good. So did what a watch told of an instance's status before the answer to it came.
    let made_up = [(10_325, Plan::windy as fn(u64) -> Plan), (91_700, Plan::stormy), (4_000_854, Plan::stormy)];
    let made_up =
        made_up.map(|(seed, plan)| Play::new(seeded::scenario(seeded::story(seed)), seed, as_found(plan(seed))));
    // A child whose labels somebody took off was taken for one that had been let go of; a wave stood still, for nobody looked at
    // spokes again when RGDs were known again; nor when revisions were. What an RGD said was served in spokes under the number
    // of its last revision, before the next was issued. These wrote as their seeds say.
    let later = [11_200_278, 11_200_821, 10_001_210, 14_003_384, 14_023_893];
    let later = later.map(|seed| Play::new(seeded::scenario(seeded::story(seed)), seed, Plan::stormy(seed)));
    let made_up = made_up.into_iter().chain(later);
    all_hold(&plays.chain(made_up).collect::<Vec<_>>());
}
