//! Many RGDs in one process.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{CLIENTS, Definition, Graphs, KIND, chain, collect, say};
use crate::load;
use crate::report::{Goal, Report, ratio};
use crate::stage::Requests;
use crate::tally;
use crate::usage::CpuTime;
use crate::watch::{Kind, Watches};

const PART: &str = "graphs: many RGDs";
const RESTART: &str = "graphs: restart with many RGDs";
/// What compiling one may take, in milliseconds.
const COMPILE: f64 = 10.0;
/// Resident memory of an RGD, in KiB.
const PER_RGD: f64 = 200.0;

pub(super) async fn measure(graphs: &mut Graphs) -> anyhow::Result<()> {
    let count = graphs.sizes.definitions;
    say(&format!("{count} RGDs"));
    let before = graphs.controller.resident_kib()?;
    let compiled = graphs.controller.compiled().await?;
    let mark = graphs.mark().await?;
    let mut definitions = Watches::<Definition>::begin(&[&graphs.person], &[Kind::Modified]).await?;
    let person = graphs.person.clone();
    let define = move |number: usize| {
        let person = person.clone();
        async move { chain::define(&person, &format!("{KIND}{number:04}")).await }
    };
    let (all, cpu, began) = (CpuTime::now()?, graphs.controller.cpu()?, Instant::now());
    let load = tokio::spawn(load::at_full_speed(count, CLIENTS, define));
    let seen = collect(&mut definitions, count, |one: &Definition| one.name().to_owned(), Definition::is_active).await;
    load.await??;
    let last = seen?.into_values().max().unwrap_or(began);
    let used = CpuTime::now()? - &all;
    graphs.report.noise(&used, began, PART);
    graphs.quiet().await?;
    let cpu = graphs.controller.cpu()? - cpu;
    let compiled = graphs.controller.compiled().await?.since(compiled);
    let resident = graphs.controller.resident_kib()?;
    let requests = graphs.requests(mark).await?;

    let report = &mut graphs.report;
    report.note(PART, "RGDs", ratio(count, 1), "");
    report.note(PART, "until all are Active", last.duration_since(began).as_secs_f64(), "s");
    report.judge(PART, "compiling one, mean", compiled.mean(), "ms", Goal::AtMost(COMPILE));
    report.note(PART, "compiling one, no longer than", compiled.longest * 1_000.0, "ms");
    report.note(PART, "compiled per RGD", compiled.count * ratio(1, count), "");
    report.note(PART, "CPU of resource-graphs per RGD", cpu * ratio(1, count), "ms");
    for (program, cpu) in used.programs.iter().filter(|(_, cpu)| **cpu > 0.0) {
        report.note(PART, format!("  CPU per RGD until all are Active: {program}"), cpu * ratio(1, count), "ms");
    }
    let per_rgd = (resident - before) * ratio(1, count);
    report.judge(PART, "resident per RGD", per_rgd, "KiB", Goal::AtMost(PER_RGD));
    tell(report, PART, &requests, count);

    say(&format!("restart with {count} RGDs"));
    let mark = graphs.mark().await?;
    let seconds = graphs.restart().await?;
    let cpu = graphs.controller.cpu()?;
    graphs.quiet().await?;
    let decided = graphs.controller.decided().await?;
    let (compiled, resident) = (graphs.controller.compiled().await?, graphs.controller.resident_kib()?);
    let requests = graphs.requests(mark).await?;
    let report = &mut graphs.report;
    report.note(RESTART, "process start to quiet", seconds, "s");
    report.note(RESTART, "decisions per RGD", decided.count * ratio(1, count), "");
    report.note(RESTART, "one decision", decided.mean() * 1_000.0, "µs");
    report.judge(RESTART, "writes", ratio(tally::writes(&requests), 1), "", Goal::Exactly(0.0));
    report.note(RESTART, "compiling one, mean", compiled.mean(), "ms");
    report.note(RESTART, "compiled per RGD", compiled.count * ratio(1, count), "");
    report.note(RESTART, "CPU of resource-graphs", cpu / 1_000.0, "s");
    report.note(RESTART, "resident afterwards", resident / 1_024.0, "MiB");
    report.note(RESTART, "the same per RGD, all of it", resident * ratio(1, count), "KiB");
    tell(report, RESTART, &requests, 1);
    Ok(())
}

/// What was asked for, discovery apart.
fn tell(report: &mut Report, part: &'static str, requests: &[Requests], per: usize) {
    let discovery = requests.iter().flat_map(|one| one.events.iter()).filter(|event| event.resource.is_empty()).count();
    report.note(part, "discovery requests, all", ratio(discovery, 1), "");
    let mut counts = BTreeMap::new();
    for (what, count) in tally::by_verb(requests) {
        // Each RGD has a kind of its own.
        let is_generated = what.contains(" chain");
        let what = if is_generated { what.replace(|digit: char| digit.is_ascii_digit(), "") } else { what };
        *counts.entry(what).or_default() += count;
    }
    report.requests(part, counts, per);
}
