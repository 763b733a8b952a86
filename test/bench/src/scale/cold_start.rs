//! A broker that starts where nothing has been brokered yet: until all objects are.

use std::collections::HashSet;
use std::time::Instant;

use super::change::Role;
use super::layout::{BUSY, is_of};
use super::stubs::Stubs;
use super::{DEADLINE, Ground, PATIENCE, Scale, real, say, seconds};
use crate::report::{Goal, ratio};
use crate::sighting::{Kind, Sightings};
use crate::tally;
use crate::usage::CpuTime;

const PART: &str = "scale: cold start";
/// In seconds.
const START: f64 = 120.0;
/// After so many objects people are told how far it is.
const STEP: usize = 5_000;

/// When the last copy was there, and when the last consumer knew of it.
struct Served {
    copied: Instant,
    told: Instant,
}

pub(super) async fn measure(mut ground: Ground) -> anyhow::Result<Scale> {
    let layout = ground.layout;
    say(&format!("cold start with {} clusters and {} objects", layout.clusters(), layout.objects()));
    let mut origins = Sightings::begin(&[&ground.stage.person], &[Kind::Modified]).await?;
    let told = tokio::spawn(async move {
        let told = origins.collect(layout.busy, DEADLINE, |seen| seen.revision > 0 && is_of(BUSY, &seen.name)).await?;
        anyhow::Ok(told.values().map(|seen| seen.at).max())
    });
    let since = ground.mark().await?;
    let (all, began) = (CpuTime::now()?, Instant::now());
    let mut broker = ground.start()?;
    let ready = broker.ready_after(DEADLINE);
    let served = until_served(&mut ground.stubs, layout.at_stubs());
    let (ready, served, real) = tokio::try_join!(ready, served, async { told.await? })?;
    let cpu = broker.cpu()?;
    let used = CpuTime::now()? - &all;
    ground.report.noise(&used, began, PART);
    let writes = ground.stubs.asked.writes_since(&since.1);
    ground.quiet().await?;
    let copies = ground.stubs.copies() + real::replicas(&ground.stage.controllers[0]).await?.len();
    let settled = broker.cpu()?;

    let end = real.map_or(served.told, |real| real.max(served.told));
    let report = &mut ground.report;
    report.note(PART, "clusters", ratio(layout.clusters(), 1), "");
    report.note(PART, "objects", ratio(layout.objects(), 1), "");
    let name = "process start to the last object served, and its consumer told";
    report.judge(PART, name, seconds(began, end), "s", Goal::AtMost(START));
    report.note(PART, "  until /readyz", ready.as_secs_f64(), "s");
    report.note(PART, "  until the last copy at stubs", seconds(began, served.copied), "s");
    report.note(PART, "  until the last consumer that is a stub knew", seconds(began, served.told), "s");
    if let Some(real) = real {
        report.note(PART, "  until the real consumer knew of all its objects", seconds(began, real), "s");
    }
    let expected = ratio(layout.objects(), 1);
    report.judge(PART, "copies", ratio(copies, 1), "", Goal::Exactly(expected));
    report.note(PART, "broker CPU per object until then", cpu * ratio(1, layout.objects()), "ms");
    report.note(PART, "broker CPU per object until quiet", settled * ratio(1, layout.objects()), "ms");
    for (program, cpu) in used.programs.iter().filter(|(_, cpu)| **cpu > 0.0) {
        report.note(PART, format!("  CPU per object: {program}"), cpu * ratio(1, layout.objects()), "ms");
    }
    let mut scale = Scale { ground, broker };
    scale.note_writes(PART, &writes, layout.at_stubs());
    scale.note_memory(PART)?;
    Ok(scale)
}

/// Waits until so many objects of stubs have copies, and their consumers know.
async fn until_served(stubs: &mut Stubs, count: usize) -> anyhow::Result<Served> {
    let (mut copied, mut told) = (HashSet::with_capacity(count), HashSet::with_capacity(count));
    let (mut last_copied, mut last_told) = (Instant::now(), Instant::now());
    let began = Instant::now();
    while copied.len() < count || told.len() < count {
        let change = stubs.next(PATIENCE).await.map_err(|error| {
            error.context(format!("{} of {count} have copies, {} of them are known", copied.len(), told.len()))
        })?;
        anyhow::ensure!(began.elapsed() < DEADLINE, "only {} of {count} are known after {DEADLINE:?}", told.len());
        if change.role == Role::Provider {
            if tally::origin_of(&change.name).is_some_and(|origin| copied.insert(origin.to_owned())) {
                last_copied = change.at;
            }
        } else if change.tells(1) && told.insert(change.name) {
            last_told = change.at;
            if told.len().is_multiple_of(STEP) {
                say(&format!("{} objects after {:.0} s", told.len(), seconds(began, last_told)));
            }
        }
    }
    Ok(Served { copied: last_copied, told: last_told })
}
