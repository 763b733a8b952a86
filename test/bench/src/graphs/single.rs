//! One instance at a time: made, active, deleted, gone.

use std::time::{Duration, Instant};

use super::{Graphs, PATIENCE, chain, name, say};
use crate::latency::Latencies;
use crate::report::{Goal, ratio};
use crate::tally;
use crate::watch::Kind;

const PART: &str = "graphs: one at a time";
const PREFIX: &str = "single";

/// What was timed of each.
#[derive(Default)]
struct Times {
    plain: Vec<Duration>,
    active: Vec<Duration>,
    with_request: Vec<Duration>,
    gone: Vec<Duration>,
}

pub(super) async fn measure(graphs: &mut Graphs) -> anyhow::Result<()> {
    let count = graphs.sizes.instances_single;
    say(&format!("{count} instances one at a time"));
    graphs.quiet().await?;
    let mut times = Times::default();
    let mark = graphs.mark().await?;
    for number in 0..count {
        let name = name(PREFIX, number);
        let plain = format!("{name}-plain");
        chain::create_plain(&graphs.person, &plain).await?;
        let began = Instant::now();
        chain::write_as_controllers_do(&graphs.person, &plain).await?;
        times.plain.push(began.elapsed());

        let began = Instant::now();
        chain::create(&graphs.person, &name).await?;
        let answered = Instant::now();
        let active = until(graphs, &name, false).await?;
        times.active.push(active.saturating_duration_since(answered));
        times.with_request.push(active - began);

        let began = Instant::now();
        chain::delete(&graphs.person, &name).await?;
        times.gone.push(until(graphs, &name, true).await? - began);
    }
    let requests = graphs.requests(mark).await?;
    let [plain, active, with_request, gone] =
        [times.plain, times.active, times.with_request, times.gone].map(Latencies::new);
    let (plain, active, with_request, gone) = (plain?, active?, with_request?, gone?);
    let report = &mut graphs.report;
    report.judge(PART, "create→ACTIVE p50", active.percentile(50), "ms", Goal::AtMost(20.0));
    report.note(PART, "create→ACTIVE p99", active.percentile(99), "ms");
    report.note(PART, "p50 with the request itself", with_request.percentile(50), "ms");
    report.note(PART, "the same five writes by a plain client p50", plain.percentile(50), "ms");
    report.judge(PART, "delete→gone p50", gone.percentile(50), "ms", Goal::AtMost(100.0));
    report.note(PART, "delete→gone p99", gone.percentile(99), "ms");
    report.requests(PART, tally::by_verb(&requests), count);
    report.judge(PART, "reads per instance", ratio(tally::reads(&requests), count), "", Goal::Exactly(0.0));
    Ok(())
}

/// When an instance was seen to be active, or to be gone.
async fn until(graphs: &mut Graphs, name: &str, gone: bool) -> anyhow::Result<Instant> {
    loop {
        let Some(seen) = graphs.instances.next(PATIENCE).await? else {
            anyhow::bail!("{name} is not {} after {PATIENCE:?}", if gone { "gone" } else { "ACTIVE" });
        };
        let reached = if gone { seen.kind == Kind::Deleted } else { seen.object.is_active() };
        if reached && seen.object.name() == name {
            return Ok(seen.at);
        }
    }
}
