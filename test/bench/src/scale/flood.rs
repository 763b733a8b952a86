//! One tenant edits as fast as its API server takes it; others edit one object now and then, and somebody loads the page.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::change::Role;
use super::layout::{BUSY, COMMON, Layout, name};
use super::page::{self, Loading};
use super::{CLIENTS, DEADLINE, PATIENCE, Scale, real, say, seconds};
use crate::latency::Latencies;
use crate::load;
use crate::report::{Goal, ratio};
use crate::usage::CpuTime;
use crate::{tally, widget};

const PART: &str = "scale: flood";
const CALM: &str = "scale: single edits while nothing else happens";
/// How long a single edit may take until its copy has it, in milliseconds.
const LONGEST: f64 = 1_000.0;
/// Pause between single edits.
const EVERY: Duration = Duration::from_millis(500);
/// Single edits while nothing else happens.
const IN_CALM: usize = 20;
/// What objects say before any edit.
const BEFORE: usize = 3;
/// How often it is looked whether all edits have arrived.
const GLANCE: Duration = Duration::from_secs(1);

/// What a single edit took.
struct Edited {
    /// Until the copy had it.
    copied: Duration,
    /// Until the consumer was told that its provider has seen it.
    told: Duration,
}

/// What the flood was.
struct Flooded {
    /// Edits per second.
    rate: f64,
    /// Seconds from the last edit's answer until all copies had theirs.
    behind: f64,
}

pub(super) async fn measure(scale: &mut Scale) -> anyhow::Result<()> {
    scale.ground.quiet().await?;
    say(&format!("{IN_CALM} single edits"));
    let mut number = 0;
    let mut calm = Vec::new();
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while calm.len() < IN_CALM {
        ticks.tick().await;
        calm.push(edit(scale, &mut number).await?);
    }
    tell(scale, CALM, &calm)?;

    let layout = scale.ground.layout;
    say(&format!("{} edits of one tenant", layout.edits));
    let since = scale.ground.mark().await?;
    let (all, cpu, began) = (CpuTime::now()?, scale.broker.cpu()?, Instant::now());
    let stage = &scale.ground.stage;
    let flooding = tokio::spawn(flood(stage.person.clone(), stage.controllers[0].clone(), layout));
    let loading = Loading::begin(&scale.ground.page);
    let mut meanwhile = Vec::new();
    while !flooding.is_finished() {
        ticks.tick().await;
        meanwhile.push(edit(scale, &mut number).await?);
    }
    let (flooded, loads) = (flooding.await??, loading.end().await?);
    let cpu = scale.broker.cpu()? - cpu;
    scale.ground.report.noise(&(CpuTime::now()? - &all), began, PART);
    let requests = scale.ground.stage.broker_requests(&since.0).await?;

    let report = &mut scale.ground.report;
    report.note(PART, "edits of one tenant", ratio(layout.edits, 1), "");
    report.note(PART, "edits", flooded.rate, "/s");
    report.note(PART, "last edit until all copies have theirs", flooded.behind, "s");
    report.note(PART, "the broker's writes per edit", ratio(tally::widget_writes(&requests), layout.edits), "");
    report.note(PART, "broker CPU per edit", cpu * ratio(1, layout.edits), "ms");
    page::tell(report, PART, &loads)?;
    tell(scale, PART, &meanwhile)?;
    scale.ground.quiet().await?;
    scale.note_memory(PART)
}

/// Tells what single edits took.
fn tell(scale: &mut Scale, part: &'static str, edits: &[Edited]) -> anyhow::Result<()> {
    let copied = Latencies::new(edits.iter().map(|edit| edit.copied).collect())?;
    let told = Latencies::new(edits.iter().map(|edit| edit.told).collect())?;
    let report = &mut scale.ground.report;
    report.note(part, "single edits of others", ratio(edits.len(), 1), "");
    report.note(part, "edit→copy p50", copied.percentile(50), "ms");
    report.judge(part, "edit→copy, the longest", copied.percentile(100), "ms", Goal::AtMost(LONGEST));
    report.note(part, "edit→consumer told p50", told.percentile(50), "ms");
    report.note(part, "edit→consumer told, the longest", told.percentile(100), "ms");
    Ok(())
}

/// Edits one object that nobody has edited yet, of another tenant each time.
async fn edit(scale: &mut Scale, number: &mut usize) -> anyhow::Result<Edited> {
    let stubs = &mut scale.ground.stubs;
    anyhow::ensure!(*number < scale.ground.layout.common, "there is no object left to edit");
    let name = name(COMMON, *number);
    let began = Instant::now();
    stubs.edit(*number, BEFORE + 1)?;
    *number += 1;
    let mut copied = None;
    loop {
        let change = stubs.next(PATIENCE).await.map_err(|error| error.context(format!("{name} was edited")))?;
        let took = change.at.saturating_duration_since(began);
        // It is the first edit of the object, and so the second generation of both.
        match change.role {
            Role::Provider if tally::origin_of(&change.name) == Some(name.as_str()) && change.generation > 1 => {
                copied.get_or_insert(took);
            }
            Role::Consumer if change.name == name && change.tells(2) => {
                return Ok(Edited { copied: copied.unwrap_or(took), told: took });
            }
            Role::Provider | Role::Consumer => {}
        }
    }
}

/// All objects of the tenant, again and again, until all of that is at their provider.
async fn flood(person: Client, provider: Client, layout: Layout) -> anyhow::Result<Flooded> {
    let tenant = person.clone();
    let edit = move |number: usize| {
        let tenant = tenant.clone();
        let (object, round) = (number % layout.busy, number / layout.busy);
        async move { widget::edit(&tenant, &name(BUSY, object), BEFORE + 1 + round).await }
    };
    let sent = load::at_full_speed(layout.edits, CLIENTS, edit).await?;
    let answered = sent.iter().map(|one| one.answered).max().unwrap_or_else(Instant::now);
    let wanted = real::replicas(&person).await?;
    loop {
        let looked = Instant::now();
        let behind = behind(&wanted, &real::replicas(&provider).await?);
        if behind == 0 {
            return Ok(Flooded { rate: load::rate(&sent), behind: seconds(answered, looked) });
        }
        anyhow::ensure!(answered.elapsed() < DEADLINE, "{behind} copies are behind {DEADLINE:?} after the last edit");
        sleep(GLANCE).await;
    }
}

/// How many objects have a copy that is not what it should be, or none.
fn behind(wanted: &BTreeMap<String, u64>, copies: &BTreeMap<String, u64>) -> usize {
    let held: BTreeMap<&str, u64> =
        copies.iter().filter_map(|(copy, replicas)| Some((tally::origin_of(copy)?, *replicas))).collect();
    wanted.iter().filter(|(name, replicas)| held.get(name.as_str()) != Some(replicas)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_held_against_their_objects() {
        let of = |all: &[(&str, u64)]| all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let wanted = of(&[("busy-00001", 5), ("busy-00002", 4), ("busy-00003", 4)]);
        let copies = of(&[("a8b70b353e97-busy-00001", 5), ("a8b70b353e97-busy-00002", 3)]);
        assert_eq!(behind(&wanted, &copies), 2);
    }
}
