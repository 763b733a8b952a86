//! Instances as fast as they come, beside what plain clients reach with the same writes.

use std::time::Instant;

use super::{CLIENTS, Graphs, chain, name, say};
use crate::load::{self, per_second};
use crate::report::{Goal, ratio};
use crate::tally;
use crate::usage::CpuTime;

const PART: &str = "graphs: burst";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// What plain clients reach.
struct Ceiling {
    /// Objects per second, each with all its writes.
    rate: f64,
    /// CPU time of all programs here per object, in milliseconds.
    cpu: f64,
}

pub(super) async fn measure(graphs: &mut Graphs) -> anyhow::Result<()> {
    let ceiling = ceiling(graphs).await?;
    let count = graphs.sizes.instances_burst;
    say(&format!("{count} instances at full speed"));
    let mark = graphs.mark().await?;
    let decided = graphs.controller.decided().await?;
    let (all, cpu, began) = (CpuTime::now()?, graphs.controller.cpu()?, Instant::now());
    let (sent, active) = graphs.fill("burst", count).await?;
    let used = CpuTime::now()? - &all;
    graphs.report.noise(&used, began, PART);
    graphs.quiet().await?;
    let cpu = graphs.controller.cpu()? - cpu;
    let decided = graphs.controller.decided().await?.since(decided);
    let requests = graphs.requests(mark).await?;

    let rate = match (load::first(&sent), active.values().max()) {
        (Some(first), Some(last)) => per_second(count, last.duration_since(first)),
        _ => 0.0,
    };
    let report = &mut graphs.report;
    report.note(PART, "created", load::rate(&sent), "instances/s");
    report.judge(PART, "ACTIVE", rate, "instances/s", Goal::AtLeast(100.0));
    report.note(PART, "ACTIVE ÷ plain clients", rate / ceiling.rate, "");
    let by_cpu = ceiling.cpu / (used.ours() * ratio(1, count));
    report.note(PART, "the same by CPU time (noise hardly counts)", by_cpu, "");
    report.judge(PART, "CPU of resource-graphs per instance", cpu * ratio(1, count), "ms", Goal::AtMost(3.0));
    for (program, cpu) in used.programs.iter().filter(|(_, cpu)| **cpu > 0.0) {
        report.note(PART, format!("  CPU per instance until all are ACTIVE: {program}"), cpu * ratio(1, count), "ms");
    }
    let writes = ratio(tally::writes(&requests) - tally::events(&requests), count);
    report.judge(PART, "writes per instance", writes, "", Goal::Exactly(ratio(chain::WRITES, 1)));
    report.judge(PART, "reads per instance", ratio(tally::reads(&requests), count), "", Goal::Exactly(0.0));
    report.note(PART, "decisions per instance", decided.count * ratio(1, count), "");
    report.note(PART, "one decision", decided.mean() * 1_000.0, "µs");
    report.requests(PART, tally::by_verb(&requests), count);
    Ok(())
}

/// The best of some degrees of parallelism. The machine is idle but for that.
async fn ceiling(graphs: &mut Graphs) -> anyhow::Result<Ceiling> {
    let generated = graphs.get(&format!("{CRDS}/{}", chain::crd_name())).await?;
    let crd = chain::plain_crd(&generated)?;
    graphs.cluster.apply(crate::stage::PERSON, &crd.to_string()).await?;
    graphs.quiet().await?;
    let count = graphs.sizes.instances_burst;
    say(&format!("the writes of {count} instances by 8, 16 and 32 plain clients"));
    plainly(graphs, "plain-warm", count / 5, CLIENTS).await?;
    let mut best = Ceiling { rate: 0.0, cpu: f64::INFINITY };
    for (prefix, clients) in [("plain-eight", 8), ("plain-sixteen", 16), ("plain-thirty-two", 32)] {
        let (cpu, began) = (CpuTime::now()?, Instant::now());
        let rate = plainly(graphs, prefix, count, clients).await?;
        let used = CpuTime::now()? - &cpu;
        graphs.report.noise(&used, began, PART);
        graphs.report.note(PART, format!("the same writes by {clients} plain clients"), rate, "instances/s");
        best = Ceiling { rate: best.rate.max(rate), cpu: best.cpu.min(used.ours() * ratio(1, count)) };
    }
    Ok(best)
}

async fn plainly(graphs: &Graphs, prefix: &'static str, count: usize, clients: usize) -> anyhow::Result<f64> {
    let person = graphs.person.clone();
    let write = move |number: usize| {
        let person = person.clone();
        async move { chain::write_plainly(&person, &name(prefix, number)).await }
    };
    Ok(load::rate(&load::at_full_speed(count, clients, write).await?))
}
