//! A broker that starts with nothing in memory, in front of many objects that need nothing.

use super::{Bench, DEADLINE, SETTLED, say};
use crate::report::{Goal, ratio};
use crate::tally;

const PART: &str = "restart";

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    say(&format!("restart with {} objects", bench.objects));
    bench.broker.stop().await?;
    let mark = bench.stage.mark().await?;
    bench.broker.start_again(&bench.stage, &[])?;
    let seconds = bench.broker.seconds_to_quiet(&bench.stage, &mark).await?;
    let cpu = bench.broker.cpu()?;
    let (turns, decisions) = (bench.broker.turns().await?, bench.broker.decisions().await?);
    // What it would write late is also a write of the restart.
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let requests = bench.stage.broker_requests(&mark).await?;
    let resident = bench.broker.resident_kib()?;

    let (objects, report) = (bench.objects, &mut bench.report);
    report.note(PART, "objects", ratio(objects, 1), "");
    report.judge(PART, "process start to quiet", seconds, "s", Goal::AtMost(5.0));
    report.judge(PART, "writes", ratio(tally::writes(&requests), 1), "", Goal::Exactly(0.0));
    report.note(PART, "reads", ratio(tally::total(&requests) - tally::writes(&requests), 1), "");
    report.note(PART, "broker CPU", cpu / 1_000.0, "s");
    report.note(PART, "turns in the queue per object", turns / ratio(objects, 1), "");
    if let Some((count, seconds)) = decisions {
        report.note(PART, "decisions per object", count / ratio(objects, 1), "");
        report.note(PART, "one decision", seconds * 1_000_000.0 / count, "µs");
    }
    report.note(PART, "resident afterwards", resident / 1_024.0, "MiB");
    report.requests(PART, tally::by_verb(&requests), 1);
    Ok(())
}
