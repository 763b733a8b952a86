//! What the number of objects costs: a burst, and a start, with few and with many held.

use super::cell::{self, Cell};
use super::{Bench, WARM_UP};
use crate::report::{Goal, ratio};

const PART: &str = "held";
/// Resident memory of an object with its copy, in KiB.
const PER_OBJECT: f64 = 6.0;
/// From the start until all is quiet with the most objects, in seconds.
const START: f64 = 20.0;

pub(crate) async fn measure(bench: &mut Bench, smallest: &Cell) -> anyhow::Result<()> {
    let [_, more @ ..] = bench.sizes.held;
    let mut cells = Vec::new();
    for size in more {
        bench.fill_up(size - WARM_UP).await?;
        let (cell, _) = bench.burst(PART, None).await?;
        cells.push(cell);
    }

    let report = &mut bench.report;
    let cells: Vec<&Cell> = [smallest].into_iter().chain(&cells).collect();
    cell::tell(report, PART, &cells, |cell| format!("{} objects", cell.objects));
    if let [first, .., last] = cells[..] {
        let per_object = (last.resident_later - first.resident_later) * ratio(1, last.objects - first.objects);
        report.judge(PART, "resident per object with its copy", per_object, "KiB", Goal::AtMost(PER_OBJECT));
        let name = format!("process start to quiet with {} objects", last.objects);
        report.judge(PART, name, last.started, "s", Goal::AtMost(START));
        report.judge(PART, "writes of that start", ratio(last.writes, 1), "", Goal::Exactly(0.0));
    }
    Ok(())
}
