//! A story: a person asks for a Certificate, gets it, and gives it back; meanwhile things go wrong.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use runtime_fleet::random;
use serde_json::Value;
use sim::{Deed, Entry, Weather};
use tokio::{
    runtime::{Builder, RngSeed},
    time::sleep,
};

use crate::{
    ending::{Ending, ending},
    judge::judge,
    person::Person,
    program::Program,
    stage::{CERTIFICATES, CONSUMER, Stage, certificate},
};

/// So long faults go on after each thing that the person does.
const TROUBLE: Duration = Duration::from_mins(3);

/// All is quiet when nothing was written for so long.
const QUIET: Duration = Duration::from_mins(10);

/// It has to become quiet within this.
const PATIENCE: Duration = Duration::from_hours(2);

/// Worlds have some semaphores in common, and must not wait for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    weather: Weather,
    /// After how many of its writes each process crashes.
    crashes: Vec<u64>,
}

impl Plan {
    pub(crate) fn calm() -> Self {
        Self { weather: Weather::CALM, crashes: Vec::new() }
    }

    pub(crate) fn crash(after: u64) -> Self {
        Self { crashes: vec![after], ..Self::calm() }
    }

    /// Every other write comes too late.
    pub(crate) fn contested() -> Self {
        Self { weather: Weather { conflicts: 500, ..Weather::CALM }, ..Self::calm() }
    }

    /// API servers never take less than this for a write.
    pub(crate) fn slow(by: Duration) -> Self {
        Self { weather: Weather { slow: by, ..Weather::CALM }, ..Self::calm() }
    }

    /// As bad as a seed says.
    pub(crate) fn stormy(seed: u64) -> Self {
        let of = |salt: u64| seed.wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let share = |salt| [0, 10, 50, 200][usize::try_from(of(salt) % 4).unwrap()];
        let weather = Weather {
            lost: share(1),
            unanswered: share(2),
            refused: share(3),
            conflicts: share(4),
            late: share(5),
            cut: share(6) * 4,
            slow: Duration::ZERO,
        };
        let crashes = (0..of(7) % 4).map(|crash| 1 + of(8 + crash) % 12).collect();
        Self { weather, crashes }
    }
}

/// What was seen of it.
pub(crate) struct Told {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) entries: Vec<Entry>,
    /// How much the process wrote that lives at the end.
    pub(crate) writes: u64,
    served: Ending,
    gone: Ending,
    failure: Option<String>,
}

/// Tells it from its beginning to its end.
pub(crate) fn tell(seed: u64, plan: &Plan) -> Told {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Which of two things that are ready is taken first is the runtime's own chance.
    let chance = RngSeed::from_bytes(&seed.to_le_bytes());
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).rng_seed(chance).build().unwrap();
    runtime.block_on(run(seed, plan.clone()))
}

async fn run(seed: u64, plan: Plan) -> Told {
    random::seed(seed);
    let stage = Stage::set(seed).await;
    let program = Program::start(&stage.world, seed, plan.crashes.clone());
    let consumer = stage.server(CONSUMER);
    let person = Person { name: "ann", server: &consumer };

    // What is slow does not become fast.
    let settled = Weather { slow: plan.weather.slow, ..Weather::CALM };
    program.set_weather(plan.weather);
    person.create(CERTIFICATES, &certificate("shop")).await;
    sleep(TROUBLE).await;
    program.set_weather(settled);
    let failure = quiet(&stage).await;
    let served = ending(&stage);

    program.set_weather(plan.weather);
    person.ask("DELETE", &format!("{CERTIFICATES}/website"), &Value::Null).await;
    sleep(TROUBLE).await;
    program.set_weather(settled);
    let failure = failure.or(quiet(&stage).await);
    let gone = ending(&stage);
    let entries = stage.world.journal().entries();
    let writes = program.writes();
    program.end();
    Told { seed, plan, entries, writes, served, gone, failure }
}

fn revisions(stage: &Stage) -> Vec<u64> {
    stage.servers().map(|server| server.revision()).collect()
}

/// Waits until nothing is written any more. `Some`: something is, for ever.
async fn quiet(stage: &Stage) -> Option<String> {
    let mut waited = Duration::ZERO;
    loop {
        let before = revisions(stage);
        sleep(QUIET).await;
        if revisions(stage) == before {
            return None;
        }
        waited += QUIET;
        if waited > PATIENCE {
            return Some(format!("it is not quiet after {} min", PATIENCE.as_secs() / 60));
        }
    }
}

impl Told {
    /// The story, for people.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.entries.iter().filter(|entry| is_told(entry)).map(ToString::to_string).collect();
        format!("seed {}: {:?}\n{}", self.seed, self.plan, lines.join("\n"))
    }

    /// Everything that must hold, against the story in which nothing went wrong.
    pub(crate) fn hold(&self, calm: &Self) {
        if let Err(why) = self.check(calm) {
            panic!("{}\n\nseed {}: {why}", self.text(), self.seed);
        }
    }

    pub(crate) fn check(&self, calm: &Self) -> Result<(), String> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        judge(&self.entries)?;
        let served = |ending: &Ending| ending.keys().filter(|[_, _, namespace, _]| namespace == "shop").count();
        if served(&calm.served) != 4 {
            return Err(format!("it is not served: {:?}", calm.served.keys()));
        }
        let namespace_left = |[server, _, _, name]: &[String; 4]| name == "shop" && server != CONSUMER;
        if served(&calm.gone) != 0 || calm.gone.keys().any(namespace_left) {
            return Err(format!("something is left: {:?}", calm.gone.keys()));
        }
        same("when it was served", &self.served, &calm.served)?;
        same("when it was gone", &self.gone, &calm.gone)
    }
}

fn same(when: &str, found: &Ending, expected: &Ending) -> Result<(), String> {
    for key in found.keys().chain(expected.keys()) {
        let (found, expected) = (found.get(key), expected.get(key));
        if found != expected {
            let show = |object: Option<&Value>| object.map_or("nothing".to_owned(), ToString::to_string);
            return Err(format!(
                "{when}, {} is\n  {}\nand should be\n  {}",
                key.join(" "),
                show(found),
                show(expected)
            ));
        }
    }
    Ok(())
}

/// How the world was furnished, and Events, are left out.
fn is_told(entry: &Entry) -> bool {
    let unsaid = ["events.events.k8s.io", "customresourcedefinitions.apiextensions.k8s.io"];
    match &entry.deed {
        Deed::Change(change) => entry.by != "platform" && !unsaid.contains(&&*change.resource),
        Deed::Told(_) => true,
    }
}
