//! `Tale`: a scenario, played from its beginning to its end while things go wrong.

use std::{collections::BTreeSet, fmt::Write as _, ops::Range, sync::Arc, time::Duration};

use broker_api::graphs::keys;
use runtime_fleet::wall;
use serde_json::Value;
use sim::{Deed, Entry, Weather, World};
use tokio::time::sleep;

use super::{
    controller::Controller,
    ending::{Ending, UNTOLD, ending, without_adoption, without_numbers},
    judge::{Deeds, HEARD, Place, is_ours, judge, label},
    plan::{Plan, What},
    scenario::Scenario,
    stage::{PLATFORM, SPOKES, Stage},
};
use crate::{panics::heard, program::Program, story::alone};

/// So long faults go on in each scene.
const TROUBLE: Duration = HEARD;

/// All is quiet when nothing was written for so long: longer than anybody waits before trying again, which is a watch that is
/// told nothing, until it is opened anew and that is found to be told nothing, too.
const QUIET: Duration = Duration::from_mins(11);

/// It has to become quiet within this.
const PATIENCE: Duration = Duration::from_hours(3);

/// What was seen of a scene.
struct Seen {
    ending: Ending,
    deeds: Deeds,
    /// Children whose instance is gone.
    orphans: Vec<String>,
    /// Which entries of the journal are of it.
    steps: Range<usize>,
}

/// What was seen of all.
pub(crate) struct Told {
    scenario: Scenario,
    pub(crate) seed: u64,
    plan: Plan,
    entries: Vec<Entry>,
    /// How much the processes wrote that live at the end, leases aside.
    pub(crate) writes: u64,
    seen: Vec<Seen>,
    failure: Option<String>,
}

/// Plays a scenario.
pub(crate) fn tell(scenario: &Scenario, seed: u64, plan: &Plan) -> Told {
    let (told, panic) = heard(|| alone(seed, play(scenario.clone(), seed, plan.clone())));
    Told { failure: panic.or(told.failure), ..told }
}

async fn play(scenario: Scenario, seed: u64, plan: Plan) -> Told {
    let stage = Stage::set(seed, scenario.hubs(), scenario.spokes()).await;
    wall::set(stage.world.clock().wall());
    let start = |(process, hub): (u64, &&'static str)| {
        let crashes = if process == 0 { plan.crashes.clone() } else { Vec::new() };
        let controller =
            Controller { at: process, hub, args: scenario.args.clone(), skew: plan.skew, narrow: plan.narrow };
        Program::start(controller, &stage.world, seed.wrapping_add(process << 48), crashes)
    };
    let programs: Vec<Program> = (0..).zip(&scenario.processes).map(start).collect();
    let mut seen = Vec::new();
    let played = scenes(&scenario, &plan, &stage, &programs, &mut seen);
    let failure = tokio::select! {
        biased;
        trouble = played => trouble,
        endless = stage.world.endless() => Some(endless),
    };
    let entries = stage.world.journal().take();
    for seen in &mut seen {
        seen.deeds = Deeds::of(&entries[seen.steps.clone()]);
        if scenario.renumbers {
            seen.deeds.without_revisions();
        }
    }
    let writes = programs.iter().map(Program::work).sum();
    programs.into_iter().for_each(Program::end);
    stage.world.end();
    Told { scenario, seed, plan, entries, writes, seen, failure }
}

/// Plays them one after the other, and says what goes wrong first.
async fn scenes(
    scenario: &Scenario,
    plan: &Plan,
    stage: &Stage,
    programs: &[Program],
    seen: &mut Vec<Seen>,
) -> Option<String> {
    let mut failure = None;
    for (number, scene) in scenario.scenes.iter().enumerate() {
        let begun = count(&stage.world);
        for program in programs {
            program.set_weather(plan.weather);
        }
        for act in &scene.acts {
            stage.world.tell("", "ann", format!("scene {number}: {act}"));
            act.play(stage, plan.outage).await;
        }
        for what in plan.befalls(number, scenario.scenes.len()) {
            befall(what, stage, programs);
        }
        sleep(TROUBLE).await;
        for program in programs {
            program.set_weather(Weather::CALM);
        }
        let quiet = stage.world.quiet(QUIET, PATIENCE).await;
        failure = failure.or(quiet.err().map(|why| format!("scene {number}: {why}")));
        let mut ending = ending(stage);
        if scenario.renumbers {
            without_numbers(&mut ending);
        }
        let acts = || scenario.scenes[..=number].iter().flat_map(|scene| &scene.acts);
        without_adoption(&mut ending, |place| acts().any(|act| act.disowns(place)));
        let (orphans, steps) = (orphans(stage), begun..count(&stage.world));
        seen.push(Seen { ending, deeds: Deeds::default(), orphans, steps });
    }
    failure
}

fn befall(what: What, stage: &Stage, programs: &[Program]) {
    match what {
        What::Freeze(seconds) => {
            if let Some(busiest) = programs.iter().max_by_key(|program| program.writes()) {
                busiest.freeze(Duration::from_secs(seconds));
            }
        }
        What::Compact => stage.servers().for_each(|server| server.compact()),
    }
}

/// Children whose instance is gone.
fn orphans(stage: &Stage) -> Vec<String> {
    let mut orphans = Vec::new();
    for server in stage.servers() {
        let contents = server.contents();
        let uids: BTreeSet<&str> = contents.values().filter_map(|object| object["metadata"]["uid"].as_str()).collect();
        for ((resource, namespace, name), object) in &contents {
            let is_ours = label(object, keys::APPLYSET_PART_OF).is_some();
            if is_ours && label(object, keys::INSTANCE_ID).is_some_and(|uid| !uids.contains(uid)) {
                orphans.push(format!("{} {resource} {namespace}/{name}", server.name()));
            }
        }
    }
    orphans
}

fn count(world: &World) -> usize {
    world.journal().count(|_| true)
}

impl Told {
    /// The story, for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}, seed {}: {:?}", self.scenario.name, self.seed, self.plan);
        for entry in self.entries.iter().filter(|entry| is_told(entry)) {
            let _ = write!(text, "\n{entry}");
        }
        text
    }

    /// Everything that must hold, against the story in which nothing went wrong.
    pub(crate) fn check(&self, calm: &Self) -> Result<(), String> {
        judge(&self.entries, self.plan.parts().is_empty())?;
        let single = !self.scenario.args.contains(&"--enable-multicluster");
        let elsewhere = |entry: &&Entry| single && is_ours(entry) && SPOKES.contains(&&*entry.server);
        if let Some(entry) = self.entries.iter().find(elsewhere) {
            return Err(format!("nobody told it of this cluster (D1): {entry}"));
        }
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let mut left = BTreeSet::new();
        for (number, (seen, calm)) in self.seen.iter().zip(&calm.seen).enumerate() {
            let when = format!("scene {number}");
            left.extend(self.let_go(number, &calm.ending));
            if let Some(orphan) = seen.orphans.first() {
                return Err(format!("{when}: {orphan} has outlived its instance"));
            }
            self.expected(number, &seen.ending)?;
            let finds = self.scenario.scenes[number].finds();
            let overlaps = self.scenario.scenes[number].defines_beside_instances();
            // A watch of a cluster that is found tells of all edits since, of each or of the last at once. An instance that is
            // asked for while its RGD changes may first be what it was before. A child that somebody deletes just before he
            // deletes its instance may be made once more.
            let chance = |place: &&Place| {
                let passes = seen.deeds.made.contains(*place) && seen.deeds.removed.contains(*place);
                left.contains(*place)
                    || passes && (overlaps || finds.contains(&*place[0]) || self.scenario.scenes[number].ends(place))
            };
            if let Some(place) = seen.deeds.made.difference(&calm.deeds.made).find(|place| !chance(place)) {
                return Err(format!("{when}: {} was made, and need not have been", place.join(" ")));
            }
            if let Some(place) = seen.deeds.removed.difference(&calm.deeds.removed).find(|place| !chance(place)) {
                return Err(format!("{when}: {} was removed, and need not have been", place.join(" ")));
            }
            same(&when, &seen.ending, &calm.ending, &left)?;
            left.retain(|place| seen.ending.contains_key(place) != calm.ending.contains_key(place));
        }
        Ok(())
    }

    /// What only one of two stories has left after a scene. Of a child whose labels somebody took and of the deletion of its
    /// instance, both in one scene or since their server was lost, either may be seen first: it is his and stays, or is taken up
    /// again and goes.
    fn let_go(&self, number: usize, calm: &Ending) -> Vec<Place> {
        let found = self.scenario.scenes[number].finds();
        let scenes = &self.scenario.scenes[..=number];
        let acts = || scenes.iter().flat_map(|scene| &scene.acts);
        let ended = |server: &str| {
            // What is done in the scene in which it is lost may be seen only once it is found, too.
            let lost = scenes.iter().rposition(|scene| scene.acts.iter().any(|act| act.loses(server)));
            let mut since = scenes[lost.unwrap_or_default()..].iter().flat_map(|scene| &scene.acts);
            found.contains(server) && since.any(|act| act.ends_one_of(server))
        };
        let seen = &self.seen[number].ending;
        let either = seen.keys().filter(|place| !calm.contains_key(*place));
        let either = either.chain(calm.keys().filter(|place| !seen.contains_key(*place)));
        // Others may have had their turn between the two.
        let now = &self.scenario.scenes[number].acts;
        let at_once = |place: &Place| {
            now.iter().any(|act| act.disowns(place)) && now.iter().any(|act| act.ends_one_of(&place[0]))
        };
        let his = |place: &&Place| at_once(place) || ended(&place[0]) && acts().any(|act| act.disowns(place));
        either.filter(his).cloned().collect()
    }

    /// Only how it ends is held against others.
    pub(crate) fn without_entries(self) -> Self {
        Self { entries: Vec::new(), ..self }
    }

    /// All that has happened.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn expected(&self, number: usize, ending: &Ending) -> Result<(), String> {
        let renumbered = |resource: &str| self.scenario.renumbers && resource.starts_with("graphrevisions.");
        let expected = self.scenario.scenes[number].expected.iter();
        for expected in expected.filter(|expected| !renumbered(expected.place[1])) {
            let found = ending.get(&expected.place.map(str::to_owned));
            let place = expected.place.join(" ");
            match (&expected.value, found) {
                (None, Some(found)) => return Err(format!("scene {number}: there is {place}: {found}")),
                (Some(_), None) => return Err(format!("scene {number}: there is no {place}")),
                (Some(value), Some(found)) if found.pointer(expected.pointer).unwrap_or(&Value::Null) != value => {
                    let pointer = expected.pointer;
                    return Err(format!("scene {number}: {pointer} of {place} is not {value}: {found}"));
                }
                (None, None) | (Some(_), Some(_)) => {}
            }
        }
        Ok(())
    }
}

/// All but what was `left`.
fn same(when: &str, found: &Ending, expected: &Ending, left: &BTreeSet<Place>) -> Result<(), String> {
    for key in found.keys().chain(expected.keys()).filter(|key| !left.contains(*key)) {
        let (found, expected) = (found.get(key), expected.get(key));
        if found != expected {
            let show = |object: Option<&Arc<Value>>| object.map_or("nothing".to_owned(), ToString::to_string);
            let place = key.join(" ");
            return Err(format!("{when}: {place} is\n  {}\nand should be\n  {}", show(found), show(expected)));
        }
    }
    Ok(())
}

/// How the world was furnished is left out, and what is written for people.
fn is_told(entry: &Entry) -> bool {
    match &entry.deed {
        Deed::Change(change) => entry.by != PLATFORM && !UNTOLD.contains(&&*change.resource),
        Deed::Told(_) => true,
    }
}
