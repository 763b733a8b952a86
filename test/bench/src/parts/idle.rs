//! Nothing happens, so nothing should be asked. After a restart where that is measured too: watches are renewed every
//! few minutes, and the first of them are not due yet.

use super::{Bench, DEADLINE, SETTLED, say};
use crate::report::{Goal, ratio};
use crate::tally;

const PART: &str = "idle";

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let span = bench.sizes.idle;
    say(&format!("{} s of nothing", span.as_secs()));
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let mark = bench.stage.mark().await?;
    let cpu = bench.broker.cpu()?;
    tokio::time::sleep(span).await;
    let cpu = bench.broker.cpu()? - cpu;
    let requests = bench.stage.broker_requests(&mark).await?;
    let name = format!("requests in {} s", span.as_secs());
    bench.report.judge(PART, name, ratio(tally::total(&requests), 1), "", Goal::Exactly(0.0));
    bench.report.note(PART, "broker CPU", cpu / span.as_secs_f64(), "ms/s");
    if tally::total(&requests) > 0 {
        bench.report.requests(PART, tally::by_verb(&requests), 1);
    }
    Ok(())
}
