//! A child that somebody changed, and nothing at all.

use std::time::Instant;

use harness::wait_for;

use super::{DEADLINE, Graphs, chain, name, say};
use crate::report::{Goal, ratio};
use crate::tally;

const DRIFT: &str = "graphs: drift of one child";
const IDLE: &str = "graphs: idle";

pub(super) async fn measure(graphs: &mut Graphs) -> anyhow::Result<()> {
    drift(graphs).await?;
    idle(graphs).await
}

async fn drift(graphs: &mut Graphs) -> anyhow::Result<()> {
    let (person, name) = (graphs.person.clone(), name("burst", 0));
    let mark = graphs.mark().await?;
    let began = Instant::now();
    chain::disturb(&person, &name).await?;
    wait_for(DEADLINE, "the child to be repaired", async || {
        anyhow::ensure!(chain::is_repaired(&person, &name).await?, "it is not");
        Ok(())
    })
    .await?;
    let took = began.elapsed();
    graphs.quiet().await?;
    let requests = graphs.requests(mark).await?;
    let report = &mut graphs.report;
    report.note(DRIFT, "until it was seen to be repaired", took.as_secs_f64() * 1_000.0, "ms");
    report.judge(DRIFT, "writes", ratio(tally::writes(&requests), 1), "", Goal::Exactly(1.0));
    report.judge(DRIFT, "reads", ratio(tally::reads(&requests), 1), "", Goal::Exactly(0.0));
    report.requests(DRIFT, tally::by_verb(&requests), 1);
    Ok(())
}

async fn idle(graphs: &mut Graphs) -> anyhow::Result<()> {
    let span = graphs.sizes.idle_instances;
    say(&format!("{} s of nothing", span.as_secs()));
    let (mark, cpu) = (graphs.mark().await?, graphs.controller.cpu()?);
    tokio::time::sleep(span).await;
    let cpu = graphs.controller.cpu()? - cpu;
    let requests = graphs.requests(mark).await?;
    let name = format!("requests in {} s", span.as_secs());
    graphs.report.judge(IDLE, name, ratio(tally::total(&requests), 1), "", Goal::Exactly(0.0));
    graphs.report.note(IDLE, "CPU of resource-graphs", cpu / span.as_secs_f64(), "ms/s");
    Ok(())
}
