//! Many instances: what they take of memory, and a restart in front of them.

use super::{Graphs, say};
use crate::report::{Goal, ratio};
use crate::tally;

const MEMORY: &str = "graphs: memory";
const RESTART: &str = "graphs: restart";
/// Resident memory of an instance with its children, in KiB.
const PER_INSTANCE: f64 = 12.0;

pub(super) async fn measure(graphs: &mut Graphs) -> anyhow::Result<()> {
    let few = graphs.count;
    // A process that has seen nothing else, as the one after it.
    graphs.restart().await?;
    graphs.quiet().await?;
    let fresh = graphs.controller.resident_kib()?;
    let more = graphs.sizes.instances_many.saturating_sub(few);
    say(&format!("{more} more instances"));
    graphs.fill("many", more).await?;
    graphs.quiet().await?;
    let grown = graphs.controller.resident_kib()?;
    let count = graphs.count;
    let per_instance = |resident: f64| (resident - fresh) * ratio(1, count - few);
    let report = &mut graphs.report;
    report.note(MEMORY, format!("resident with {few} instances"), fresh / 1_024.0, "MiB");
    report.note(MEMORY, format!("resident with {count} instances"), grown / 1_024.0, "MiB");
    let name = format!("per instance with its children, between {few} and {count}");
    report.judge(MEMORY, name, per_instance(grown), "KiB", Goal::AtMost(PER_INSTANCE));

    say(&format!("restart with {count} instances"));
    let mark = graphs.mark().await?;
    let seconds = graphs.restart().await?;
    let cpu = graphs.controller.cpu()?;
    let decided = graphs.controller.decided().await?;
    // What it would write late is also a write of the restart.
    graphs.quiet().await?;
    let resident = graphs.controller.resident_kib()?;
    let requests = graphs.requests(mark).await?;
    let report = &mut graphs.report;
    report.note(MEMORY, "the same of both after a restart", per_instance(resident), "KiB");
    report.note(RESTART, "instances", ratio(count, 1), "");
    report.judge(RESTART, "process start to quiet", seconds, "s", Goal::AtMost(5.0));
    report.judge(RESTART, "writes", ratio(tally::writes(&requests), 1), "", Goal::Exactly(0.0));
    report.note(RESTART, "reads", ratio(tally::reads(&requests), 1), "");
    report.note(RESTART, "CPU of resource-graphs", cpu / 1_000.0, "s");
    report.note(RESTART, "decisions per instance", decided.count * ratio(1, count), "");
    report.note(RESTART, "one decision", decided.mean() * 1_000.0, "µs");
    report.note(RESTART, "resident afterwards", resident / 1_024.0, "MiB");
    report.requests(RESTART, tally::by_verb(&requests), 1);
    Ok(())
}
