//! A broker that starts with nothing in memory, where all is as it should be.

use super::{DEADLINE, SETTLED, Scale, say};
use crate::report::{Goal, ratio};
use crate::tally;

const PART: &str = "scale: restart";
/// In seconds.
const START: f64 = 20.0;

pub(super) async fn measure(scale: &mut Scale) -> anyhow::Result<()> {
    say("restart");
    let stopped = scale.broker.stop().await?;
    let since = scale.ground.mark().await?;
    let (reads, watches) = scale.ground.stubs.asked.reads_and_watches();
    scale.broker = scale.ground.start()?;
    let until_ready = scale.broker.ready_after(DEADLINE).await?;
    let rest = scale.broker.rest_after(DEADLINE).await?;
    let cpu = scale.broker.cpu()?;
    let real = scale.broker.last_request(&scale.ground.stage, &since.0).await?;
    let stubs = scale.ground.stubs.last_after(scale.broker.started());
    // What it would write late is also a write of the restart.
    tokio::time::sleep(SETTLED).await;
    let writes = scale.ground.written(&since).await?;
    let (more_reads, more_watches) = scale.ground.stubs.asked.reads_and_watches();
    let requests = scale.ground.stage.broker_requests(&since.0).await?;

    let stubs_there = scale.ground.layout.consumers + scale.ground.layout.providers;
    let report = &mut scale.ground.report;
    let quiet = rest.max(real).max(stubs);
    report.judge(PART, "process start to quiet", quiet.as_secs_f64(), "s", Goal::AtMost(START));
    report.note(PART, "  until /readyz", until_ready.as_secs_f64(), "s");
    report.judge(PART, "writes", ratio(writes, 1), "", Goal::Exactly(0.0));
    report.note(PART, "reads per stub", ratio(more_reads - reads, stubs_there), "");
    report.note(PART, "watches per stub", ratio(more_watches - watches, stubs_there), "");
    report.note(PART, "broker CPU", cpu / 1_000.0, "s");
    report.note(PART, "SIGTERM to exit 0 before it", stopped, "s");
    if writes > 0 {
        let counts = scale.ground.stubs.asked.writes_since(&since.1);
        report.requests(PART, tally::by_verb(&requests), 1);
        scale.note_writes("scale: restart, stubs", &counts, 1);
    }
    scale.note_memory(PART)
}
