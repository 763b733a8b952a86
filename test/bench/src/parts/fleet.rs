//! What the number of clusters costs: a burst with few and with many known. All but the first are idle.

use super::cell::{self, Cell};
use super::{Bench, DEADLINE, SETTLED};
use crate::extra::Extras;
use crate::report::{Goal, ratio};
use crate::stage::PERSON;
use crate::widget;

const PART: &str = "fleet";
/// Resident memory of an idle cluster, in KiB: 150 KB.
const PER_CLUSTER: f64 = 146.0;

/// The fewest clusters and the fewest objects, which is where both sorts of growth begin.
pub(crate) async fn smallest(bench: &mut Bench) -> anyhow::Result<Cell> {
    bench.fill_up(bench.sizes.held[0]).await?;
    let (cell, objects) = bench.burst(PART, None).await?;
    bench.take_away(objects).await?;
    Ok(cell)
}

pub(crate) async fn measure(bench: &mut Bench, smallest: &Cell) -> anyhow::Result<()> {
    // What idle providers have, too: the broker says of it what it says of theirs.
    bench.stage.providers[1].apply(PERSON, &widget::accept_another()).await?;
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let mut extras = Extras::rehearse(&bench.stage).await?;
    let [own, more @ ..] = bench.sizes.clusters;
    let mut cells = Vec::new();
    for size in more {
        extras.grow(size - own).await?;
        let (cell, objects) = bench.burst(PART, Some(&extras)).await?;
        bench.take_away(objects).await?;
        cells.push(cell);
    }
    let watches = ratio(extras.watches(), extras.count());
    // Nothing of them is known any more when they go.
    bench.broker.restart_with(&bench.stage, &[]).await?;

    let report = &mut bench.report;
    let cells: Vec<&Cell> = [smallest].into_iter().chain(&cells).collect();
    cell::tell(report, PART, &cells, |cell| format!("{} clusters", cell.clusters));
    if let [first, .., last] = cells[..] {
        let per_cluster = (last.resident_later - first.resident_later) * ratio(1, last.clusters - first.clusters);
        report.judge(PART, "resident per idle cluster", per_cluster, "KiB", Goal::AtMost(PER_CLUSTER));
    }
    report.note(PART, "open watches per idle cluster", watches, "");
    extras.judge(report, PART);
    Ok(())
}
