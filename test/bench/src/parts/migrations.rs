//! Moves with two stages: as fast as it goes, then with each stage completed at its time, to see how soon what waited for
//! it goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use broker_api::{MigrationConfiguration, MigrationState};
use harness::wait_for;
use kube::Api;
use tokio::task::JoinSet;

use super::ceiling::Ceiling;
use super::departure::{ALL_AT_ONCE, Departure, EAST, Taken, WEST};
use super::{Bench, CLIENTS, Copies, DEADLINE, PATIENCE};
use crate::latency::Latencies;
use crate::load;
use crate::options::RATE;
use crate::report::Goal;
use crate::stage::PERSON;
use crate::staged::{self, Migration, StageObject};
use crate::tally;
use crate::watch::{Kind, Seen, Watches};

pub(super) const PREFIX: &str = "migrations";
const FAST: &str = "migrations at full speed";
const PACED: &str = "migrations, stages done at 10/s";
/// Pending, InitialInProgress, InitialCompleted, CutoverInProgress, CutoverCompleted.
const STATES: f64 = 5.0;
/// From a condition that is true to what follows, in milliseconds.
const SOON: f64 = 200.0;
const STAGES: usize = 2;

pub(super) async fn measure(bench: &mut Bench, ceiling: Ceiling) -> anyhow::Result<()> {
    configure(bench).await?;
    bench.broker.restart_with(&bench.stage, &ALL_AT_ONCE).await?;
    bench.settle_at(EAST, PREFIX, bench.sizes.migrations).await?;
    at_full_speed(bench, ceiling).await?;
    paced(bench).await
}

async fn configure(bench: &Bench) -> anyhow::Result<()> {
    bench.stage.hub.apply(PERSON, staged::CONFIGURATION).await?;
    let configurations = Api::<MigrationConfiguration>::namespaced(bench.stage.person_at_hub.clone(), "default");
    wait_for(DEADLINE, "the MigrationConfiguration to be ready", async || {
        let status = configurations.get(staged::CONFIGURATION_NAME).await?.status.unwrap_or_default();
        anyhow::ensure!(status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True"), "{status:?}");
        Ok(())
    })
    .await
}

async fn at_full_speed(bench: &mut Bench, ceiling: Ceiling) -> anyhow::Result<()> {
    let count = bench.sizes.migrations;
    let progress = Progress::watch(bench, count).await?;
    let work = Watches::<StageObject>::begin(&[&bench.stage.person_at_hub], &[Kind::Added]).await?;
    let mut departure = Departure::begin(bench, FAST, PREFIX, WEST, count).await?;
    let worker = tokio::spawn(complete_at_once(bench.stage.person_at_hub.clone(), work, STAGES * count));
    let arrived = departure.arrivals(bench).await?;
    let completed = worker.await??;
    let states = progress.wait().await?;
    let taken = departure.finish(bench, &arrived).await?;
    taken.report(bench, &ceiling);
    report_states(bench, FAST, &taken);
    tell_times(bench, FAST, &completed, &states, &arrived, false)
}

async fn paced(bench: &mut Bench) -> anyhow::Result<()> {
    let count = bench.sizes.migrations;
    let progress = Progress::watch(bench, count).await?;
    let mut work = Watches::<StageObject>::begin(&[&bench.stage.person_at_hub], &[Kind::Added]).await?;
    let mut departure = Departure::begin(bench, PACED, PREFIX, EAST, count).await?;
    let mut completed = Completed::new();
    for _ in 0..STAGES {
        // The second stage of each begins while others are still in the first, and waits here until all are in it.
        let objects = collect(&mut work, count).await?;
        complete_paced(bench, objects, &mut completed).await?;
    }
    let arrived = departure.arrivals(bench).await?;
    let states = progress.wait().await?;
    let taken = departure.finish(bench, &arrived).await?;
    report_states(bench, PACED, &taken);
    bench.report.note(PACED, "writes per move", taken.writes(), "");
    bench.report.requests(PACED, tally::by_verb(&taken.requests), count);
    tell_times(bench, PACED, &completed, &states, &arrived, true)
}

/// When the condition of a stage was true, by copy and stage.
type Completed = HashMap<(String, String), Instant>;

/// The objects of so many stages.
async fn collect(work: &mut Watches<StageObject>, count: usize) -> anyhow::Result<Vec<StageObject>> {
    let mut objects = Vec::with_capacity(count);
    while objects.len() < count {
        let Some(seen) = work.next(PATIENCE).await? else {
            anyhow::bail!("{} of {count} stages began, and nothing more for {PATIENCE:?}", objects.len());
        };
        if !seen.object.of().1.is_empty() {
            objects.push(seen.object);
        }
    }
    Ok(objects)
}

async fn complete_paced(bench: &Bench, objects: Vec<StageObject>, completed: &mut Completed) -> anyhow::Result<()> {
    let client = bench.stage.person_at_hub.clone();
    let objects = Arc::new(objects);
    let all = Arc::clone(&objects);
    let complete = move |number: usize| {
        let (client, all) = (client.clone(), Arc::clone(&all));
        async move { all[number].complete(&client).await }
    };
    for request in load::paced(objects.len(), RATE, complete).await? {
        completed.insert(key(&objects[request.number]), request.answered);
    }
    Ok(())
}

fn key(object: &StageObject) -> (String, String) {
    let (copy, stage) = object.of();
    (copy.to_owned(), stage.to_owned())
}

/// Completes stages as soon as their objects are there.
async fn complete_at_once(
    client: kube::Client,
    mut work: Watches<StageObject>,
    count: usize,
) -> anyhow::Result<Completed> {
    let mut requests: JoinSet<anyhow::Result<_>> = JoinSet::new();
    let mut completed = Completed::new();
    for _ in 0..count {
        for object in collect(&mut work, 1).await? {
            while requests.len() >= CLIENTS {
                completed.extend(requests.join_next().await.transpose()?.transpose()?);
            }
            let client = client.clone();
            requests.spawn(async move {
                object.complete(&client).await?;
                Ok((key(&object), Instant::now()))
            });
        }
    }
    while let Some(request) = requests.join_next().await {
        completed.extend([request??]);
    }
    Ok(completed)
}

/// When each Migration was first seen in a state, by copy and state.
type States = HashMap<(String, MigrationState), Instant>;

/// Watches Migrations until so many have come to their end.
struct Progress(tokio::task::JoinHandle<anyhow::Result<States>>);

impl Progress {
    async fn watch(bench: &Bench, count: usize) -> anyhow::Result<Self> {
        let mut watch =
            Watches::<Migration>::begin(&[&bench.stage.person_at_hub], &[Kind::Added, Kind::Modified]).await?;
        Ok(Self(tokio::spawn(async move {
            let (mut states, mut ended) = (States::new(), 0);
            while ended < count {
                // All of them wait while the stages are completed one after the other, so nothing may come for long.
                let Some(Seen { object, at, .. }) = watch.next(DEADLINE).await? else {
                    anyhow::bail!("{ended} of {count} Migrations ended, and nothing more for {DEADLINE:?}");
                };
                let state = object.state();
                anyhow::ensure!(state != MigrationState::Failed, "the Migration of {} failed", object.copy());
                if let std::collections::hash_map::Entry::Vacant(entry) =
                    states.entry((object.copy().to_owned(), state))
                {
                    entry.insert(at);
                    ended += usize::from(state == MigrationState::CutoverCompleted);
                }
            }
            Ok(states)
        })))
    }

    async fn wait(self) -> anyhow::Result<States> {
        self.0.await?
    }
}

fn report_states(bench: &mut Bench, part: &'static str, taken: &Taken) {
    let states = taken.writes_on("migrations", "status");
    bench.report.judge(part, "writes of the Migration's status per move", states, "", Goal::AtMost(STATES));
    let others = taken.writes_on("migrations", "");
    bench.report.note(part, "other writes of Migrations per move", others, "");
}

/// From the conditions to what follows.
fn tell_times(
    bench: &mut Bench,
    part: &'static str,
    completed: &Completed,
    states: &States,
    arrived: &Copies,
    judged: bool,
) -> anyhow::Result<()> {
    let mut waits: [Vec<Duration>; 3] = Default::default();
    for ((copy, stage), at) in completed {
        let last = stage == staged::LAST;
        let next = if last { MigrationState::CutoverCompleted } else { MigrationState::InitialCompleted };
        let followed = states.get(&(copy.clone(), next));
        waits[usize::from(last)].extend(followed.map(|seen| seen.saturating_duration_since(*at)));
        let origin = tally::origin_of(copy).and_then(|origin| arrived.get(origin)).filter(|_| last);
        waits[2].extend(origin.map(|origin| origin.at.saturating_duration_since(*at)));
    }
    let count = completed.len() / STAGES;
    let names = ["first stage done→InitialCompleted", "last stage done→CutoverCompleted", "last stage done→move ended"];
    for (name, waits) in names.into_iter().zip(waits) {
        anyhow::ensure!(waits.len() == count, "{name}: {} of {count} were seen", waits.len());
        let waits = Latencies::new(waits)?;
        bench.report.note(part, format!("{name} p50"), waits.percentile(50), "ms");
        let name = format!("{name} p99");
        if judged {
            bench.report.judge(part, name, waits.percentile(99), "ms", Goal::AtMost(SOON));
        } else {
            bench.report.note(part, name, waits.percentile(99), "ms");
        }
    }
    Ok(())
}
