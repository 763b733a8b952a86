//! A story: what a plan says is done, and in the end everything is given back; meanwhile things go wrong.

use std::time::Duration;

use runtime_fleet::{random, wall};
use sim::{Deed, Entry, Weather};
use tokio::{
    runtime::{Builder, RngSeed},
    time::sleep,
};

use crate::{
    act::{Act, Thing},
    broker::Broker,
    director::Director,
    ending::{Ending, ending},
    heed::heeded,
    judge::judge,
    panics::{RESTLESS, heard},
    plan::Plan,
    program::Program,
    stage::Stage,
};

/// So long faults go on after the last thing that somebody does.
const TROUBLE: Duration = Duration::from_mins(2);

/// All is quiet when nothing was written for so long: longer than anybody waits before trying again.
const QUIET: Duration = Duration::from_mins(11);

/// It has to become quiet within this.
const PATIENCE: Duration = Duration::from_hours(3);

/// What was seen of it.
pub(crate) struct Told {
    pub(crate) plan: Plan,
    pub(crate) entries: Vec<Entry>,
    /// How much the processes wrote that live at the end, leases aside.
    pub(crate) writes: u64,
    /// How many requests were sent.
    pub(crate) requests: u64,
    pub(crate) served: Ending,
    pub(crate) gone: Ending,
    pub(crate) failure: Option<String>,
}

/// Tells it from its beginning to its end.
pub(crate) fn tell(plan: &Plan) -> Told {
    let (told, panic) = heard(|| alone(plan.seed, run(plan.clone())));
    // Where somebody undoes each write at once a few times a key goes on for as long.
    let is_hasty = plan.acts.iter().any(|(act, _)| matches!(act, Act::Hasten(..)));
    let panic = panic.filter(|panic| !is_hasty || !panic.contains(RESTLESS));
    Told { failure: panic.or(told.failure), ..told }
}

/// Does something on one thread, in virtual time, with the chance that a seed says.
pub(crate) fn alone<T>(seed: u64, does: impl Future<Output = T>) -> T {
    // Which of two things that are ready is taken first is the runtime's own chance.
    let chance = RngSeed::from_bytes(&seed.to_le_bytes());
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).rng_seed(chance).build().unwrap();
    random::seed(seed);
    runtime.block_on(does)
}

async fn run(plan: Plan) -> Told {
    let stage = Stage::set(&plan).await;
    wall::set(stage.world.clock().wall());
    let Plan { elects, skew, narrow, .. } = plan;
    let start = |(at, crashes): (usize, &Vec<u64>)| {
        let seed = plan.seed.wrapping_add((at as u64) << 48);
        Program::start(Broker { at, elects, skew, narrow }, &stage.world, seed, crashes.clone())
    };
    let programs: Vec<Program> = plan.crashes.iter().enumerate().map(start).collect();
    let (served, gone, failure) = tokio::select! {
        biased;
        played = play(&plan, &stage, &programs) => played,
        endless = stage.world.endless() => (ending(&stage), ending(&stage), Some(endless)),
    };
    let entries = stage.world.journal().take();
    let writes = programs.iter().map(Program::work).sum();
    programs.into_iter().for_each(Program::end);
    let requests = stage.world.requests();
    stage.world.end();
    Told { plan, entries, writes, requests, served, gone, failure }
}

/// How it is when everything is served, and when everything was given back.
async fn play(plan: &Plan, stage: &Stage, programs: &[Program]) -> (Ending, Ending, Option<String>) {
    let mut failure = None;
    let served = act(plan, stage, programs, &mut failure).await;
    set_weather(programs, plan.weather);
    let director = Director::of(stage);
    for thing in Thing::all(stage.tenants) {
        director.perform(Act::GiveBack(thing)).await;
    }
    sleep(TROUBLE).await;
    set_weather(programs, settled(plan));
    let failure = match failure.or(director.settle().await.err()) {
        Some(failure) => Some(failure),
        None => stage.world.quiet(QUIET, PATIENCE).await.err(),
    };
    (served, ending(stage), failure)
}

/// What is done while everything is asked for.
async fn act(plan: &Plan, stage: &Stage, programs: &[Program], failure: &mut Option<String>) -> Ending {
    set_weather(programs, plan.weather);
    let director = Director::of(stage);
    for (act, pause) in &plan.acts {
        director.perform(*act).await;
        if let Act::Freeze(seconds) = act
            && let Some(busiest) = programs.iter().max_by_key(|program| program.writes())
        {
            busiest.freeze(Duration::from_secs(*seconds));
        }
        // A sleep takes a millisecond at the least.
        if !pause.is_zero() {
            sleep(*pause).await;
        }
    }
    sleep(TROUBLE).await;
    set_weather(programs, settled(plan));
    let unheeded = if plan.heeds { heeds(stage).await } else { Ok(()) };
    let settled = match director.settle().await {
        Ok(()) => stage.world.quiet(QUIET, PATIENCE).await,
        Err(why) => Err(why),
    };
    *failure = unheeded.and(settled).err();
    ending(stage)
}

/// Whether, once all that can be done is done, everything is where policies say.
async fn heeds(stage: &Stage) -> Result<(), String> {
    stage.world.quiet(QUIET, PATIENCE).await.map_err(|why| format!("before all is put in order {why}"))?;
    heeded(stage)
}

/// What is slow does not become fast.
fn settled(plan: &Plan) -> Weather {
    Weather { slow: plan.weather.slow, ..Weather::CALM }
}

fn set_weather(programs: &[Program], weather: Weather) {
    for program in programs {
        program.set_weather(weather);
    }
}

impl Told {
    /// The story, for people.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.entries.iter().filter(|entry| is_told(entry)).map(ToString::to_string).collect();
        format!("{}{}", self.plan, lines.join("\n"))
    }

    /// Everything that must hold, against the story in which nothing went wrong.
    pub(crate) fn hold(&self, calm: &Self) {
        if let Err(why) = self.check(calm) {
            panic!("{}\n\nseed {}: {why}", self.text(), self.plan.seed);
        }
    }

    pub(crate) fn check(&self, calm: &Self) -> Result<(), String> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        judge(&self.entries, self.plan.is_calm())?;
        self.served.check_served()?;
        self.gone.check_gone()?;
        self.served.same("when it was served", &calm.served)?;
        self.gone.same("when it was gone", &calm.gone)
    }
}

/// How the world was furnished, and Events, are left out.
fn is_told(entry: &Entry) -> bool {
    let unsaid =
        ["events.events.k8s.io", "customresourcedefinitions.apiextensions.k8s.io", "leases.coordination.k8s.io"];
    match &entry.deed {
        Deed::Change(change) => {
            (entry.by != "platform" || change.namespace == "clusters") && !unsaid.contains(&&*change.resource)
        }
        Deed::Told(_) => true,
    }
}
