//! Moves without stages: a provider stops to accept its objects, and the other one takes them over.

use super::Bench;
use super::ceiling::Ceiling;
use super::departure::{ALL_AT_ONCE, Departure, EAST, WEST};
use crate::report::Goal;
use crate::widget;

pub(super) const PREFIX: &str = "moves";
const BOUNDED: &str = "moves, 50 at once";
const UNBOUNDED: &str = "moves, all at once";
/// Mark, new copy, the old copy's deletion, mark; and the one related resource.
const WRITES: f64 = 5.0;

pub(super) async fn measure(bench: &mut Bench, ceiling: Ceiling) -> anyhow::Result<()> {
    bench.settle_at(EAST, PREFIX, bench.sizes.moves).await?;
    run(bench, ceiling, BOUNDED, WEST).await?;
    bench.broker.restart_with(&bench.stage, &ALL_AT_ONCE).await?;
    run(bench, ceiling, UNBOUNDED, EAST).await
}

async fn run(bench: &mut Bench, ceiling: Ceiling, part: &'static str, to: usize) -> anyhow::Result<()> {
    let mut departure = Departure::begin(bench, part, PREFIX, to, bench.sizes.moves).await?;
    let arrived = departure.arrivals(bench).await?;
    let taken = departure.finish(bench, &arrived).await?;
    taken.report(bench, &ceiling);
    let status = taken.writes_on(widget::RESOURCE, "status");
    bench.report.judge(part, "writes per move but for the status", taken.writes() - status, "", Goal::AtMost(WRITES));
    bench.report.judge(part, "writes of the status per move", status, "", Goal::AtMost(1.0));
    Ok(())
}
