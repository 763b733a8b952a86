//! As fast as it goes: what one API server takes, then creates and status changes at full speed.

use std::sync::Arc;
use std::time::Instant;

use super::ceiling::{self, Ceiling};
use super::{Bench, CLIENTS, Copies, DEADLINE, PATIENCE, SETTLED, copy_of, latencies, name, say};
use crate::load::{self, Request, per_second};
use crate::report::{Goal, ratio};
use crate::sighting::{Kind, Sighting, Sightings};
use crate::usage::CpuTime;
use crate::{tally, widget};

const CREATES: &str = "burst of creates";
const STATUSES: &str = "burst of status changes";
const PREFIX: &str = "burst";

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let ceiling = ceiling::measure(bench).await?;
    let copies = creates(bench, ceiling).await?;
    statuses(bench, copies).await
}

async fn creates(bench: &mut Bench, ceiling: Ceiling) -> anyhow::Result<Copies> {
    let count = bench.sizes.burst;
    say(&format!("{count} creates at full speed"));
    let mark = bench.stage.mark().await?;
    let turns = bench.broker.turns().await?;
    let decided = bench.broker.decisions().await?;
    let (cpu, broker_cpu) = (CpuTime::now()?, bench.broker.cpu()?);
    let began = Instant::now();
    let (sent, copies) = bench.fill(PREFIX, count).await?;
    let used = CpuTime::now()? - &cpu;
    let until_last_copy = bench.broker.cpu()? - broker_cpu;
    bench.report.noise(&used, began, CREATES);
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let broker_cpu = bench.broker.cpu()? - broker_cpu;
    let turns = bench.broker.turns().await? - turns;
    let decided = bench.broker.decisions().await?.zip(decided).map(|(after, before)| after.0 - before.0);
    let requests = bench.stage.broker_requests(&mark).await?;
    let names: Vec<String> = (0..count).map(|number| name(PREFIX, number)).collect();
    let until_copy = tally::writes_until_copy(&requests, &names);

    let report = &mut bench.report;
    let rate = rate_of_copies(&sent, &copies);
    report.note(CREATES, "created", load::rate(&sent), "objects/s");
    report.note(CREATES, "copied", rate, "objects/s");
    report.judge(CREATES, "copied ÷ (ceiling ÷ 3)", rate / (ceiling.rate / 3.0), "", Goal::AtLeast(0.7));
    // The same where the CPU is what there is too little of, without what others take of it.
    let by_cpu = 3.0 * ceiling.cpu / (used.ours() * ratio(1, count));
    report.note(CREATES, "the same by CPU time (noise hardly counts)", by_cpu, "");
    let (since_answer, _) = latencies(PREFIX, &sent, &copies)?;
    report.note(CREATES, "create→copy p50", since_answer.percentile(50), "ms");
    report.note(CREATES, "create→copy p99", since_answer.percentile(99), "ms");
    // Whoever creates faster makes a longer line, and all in it wait longer: this one is of copies alone.
    report.note(CREATES, "from the first create to half of the copies", until_half(&sent, &copies), "s");
    let (fewest, most) = (until_copy.iter().min().copied(), until_copy.iter().max().copied());
    let mean = ratio(until_copy.iter().sum(), count);
    report.judge(CREATES, "writes per object until its copy", mean, "", Goal::Exactly(2.0));
    if (fewest, most) != (Some(2), Some(2)) {
        report.remark(format!("writes until a copy: between {fewest:?} and {most:?}"));
    }
    report.judge(CREATES, "reads per object", ratio(tally::reads(&requests), count), "", Goal::Exactly(0.0));
    let early = ratio(tally::widget_writes_until_last_copy(&requests), count);
    report.note(CREATES, "writes per object until the last copy", early, "");
    report.note(CREATES, "writes per object, all", ratio(tally::widget_writes(&requests), count), "");
    report.note(CREATES, "Events per object", ratio(tally::events(&requests), count), "");
    // Both, lest work that is put off be work that does not count.
    let name = "broker CPU per object until the last copy";
    report.judge(CREATES, name, until_last_copy * ratio(1, count), "ms", Goal::AtMost(1.0));
    report.note(CREATES, "broker CPU per object until quiet", broker_cpu * ratio(1, count), "ms");
    report.note(CREATES, "turns in the broker's queue per object", turns * ratio(1, count), "");
    if let Some(decided) = decided {
        report.note(CREATES, "decisions per object", decided * ratio(1, count), "");
    }
    for (program, cpu) in &used.programs {
        if *cpu > 0.0 {
            report.note(
                CREATES,
                format!("  CPU per object until the last copy: {program}"),
                cpu * ratio(1, count),
                "ms",
            );
        }
    }
    report.requests(CREATES, tally::by_verb(&requests), count);
    super::memory::note(bench)?;
    Ok(copies)
}

/// Objects per second, from the first request to the last copy.
fn rate_of_copies(sent: &[Request], copies: &Copies) -> f64 {
    let last = copies.values().map(|copy| copy.at).max();
    match (load::first(sent), last) {
        (Some(first), Some(last)) => per_second(copies.len(), last.duration_since(first)),
        _ => 0.0,
    }
}

/// Seconds from the first request until half of the copies were there.
fn until_half(sent: &[Request], copies: &Copies) -> f64 {
    let mut seen: Vec<_> = copies.values().map(|copy| copy.at).collect();
    seen.sort_unstable();
    let half = seen.get(seen.len() / 2).zip(load::first(sent));
    half.map_or(0.0, |(half, first)| half.saturating_duration_since(first).as_secs_f64())
}

async fn statuses(bench: &mut Bench, copies: Copies) -> anyhow::Result<()> {
    let count = copies.len();
    say(&format!("{count} status changes at full speed"));
    let mut origins = Sightings::begin(&[&bench.stage.person], &[Kind::Modified]).await?;
    let mark = bench.stage.mark().await?;
    let cpu = bench.broker.cpu()?;
    let controllers = bench.stage.controllers.clone();
    let copies = Arc::new(copies);
    let write = move |number: usize| {
        let (controllers, copies) = (controllers.clone(), Arc::clone(&copies));
        async move {
            let copy = copy_of(&copies, PREFIX, number)?;
            widget::write_status(&controllers[copy.server], &copy.name, 1).await
        }
    };
    let load = tokio::spawn(load::at_full_speed(count, CLIENTS, write));
    let written = |sighting: &Sighting| sighting.revision == 1 && sighting.name.starts_with(PREFIX);
    let seen = origins.collect(count, PATIENCE, written).await;
    let (sent, seen) = (load.await??, seen?);
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let cpu = bench.broker.cpu()? - cpu;
    let requests = bench.stage.broker_requests(&mark).await?;

    let report = &mut bench.report;
    report.note(STATUSES, "arrived", rate_of_copies(&sent, &seen), "objects/s");
    let (since_answer, _) = latencies(PREFIX, &sent, &seen)?;
    report.note(STATUSES, "status→consumer p50", since_answer.percentile(50), "ms");
    report.note(STATUSES, "status→consumer p99", since_answer.percentile(99), "ms");
    let writes = ratio(tally::widget_writes(&requests), count);
    report.judge(STATUSES, "writes per change", writes, "", Goal::Exactly(1.0));
    report.judge(STATUSES, "reads per change", ratio(tally::reads(&requests), count), "", Goal::Exactly(0.0));
    report.note(STATUSES, "broker CPU per change", cpu * ratio(1, count), "ms");
    report.requests(STATUSES, tally::by_verb(&requests), count);
    Ok(())
}
