//! Latency while little happens: creates, then status changes, at 10 a second.

use std::sync::Arc;

use super::{Bench, Copies, DEADLINE, PATIENCE, SETTLED, latencies, name, say};
use crate::load::{self, Request};
use crate::options::RATE;
use crate::report::{Goal, Report, ratio};
use crate::sighting::{Kind, Sighting, Sightings};
use crate::{tally, widget};

const PREFIX: &str = "paced";

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let count = bench.sizes.paced;
    say(&format!("{count} creates at {RATE}/s"));
    let cpu = bench.broker.cpu()?;
    let (sent, copies) = creates(bench, count).await?;
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let cpu = bench.broker.cpu()? - cpu;
    judge(&mut bench.report, "create→copy at 10/s", PREFIX, &sent, &copies)?;
    bench.report.note("create→copy at 10/s", "broker CPU per object", cpu * ratio(1, count), "ms");

    say(&format!("{count} status changes at {RATE}/s"));
    let mark = bench.stage.mark().await?;
    let (sent, seen) = statuses(bench, copies, count).await?;
    bench.stage.quiet(SETTLED, DEADLINE).await?;
    let requests = bench.stage.broker_requests(&mark).await?;
    judge(&mut bench.report, "status→consumer at 10/s", PREFIX, &sent, &seen)?;
    let writes = ratio(tally::widget_writes(&requests), count);
    let reads = ratio(tally::reads(&requests), count);
    bench.report.judge("status→consumer at 10/s", "writes per change", writes, "", Goal::Exactly(1.0));
    bench.report.judge("status→consumer at 10/s", "reads per change", reads, "", Goal::Exactly(0.0));
    bench.report.requests("status→consumer at 10/s", tally::by_verb(&requests), count);
    Ok(())
}

fn judge(report: &mut Report, part: &'static str, prefix: &str, sent: &[Request], seen: &Copies) -> anyhow::Result<()> {
    let (since_answer, since_request) = latencies(prefix, sent, seen)?;
    report.judge(part, "p50", since_answer.percentile(50), "ms", Goal::AtMost(10.0));
    report.judge(part, "p99", since_answer.percentile(99), "ms", Goal::AtMost(40.0));
    report.note(part, "p50 with the request itself", since_request.percentile(50), "ms");
    report.note(part, "p99 with the request itself", since_request.percentile(99), "ms");
    Ok(())
}

async fn creates(bench: &mut Bench, count: usize) -> anyhow::Result<(Vec<Request>, Copies)> {
    let person = bench.stage.person.clone();
    let create = move |number: usize| {
        let person = person.clone();
        async move { widget::create(&person, &name(PREFIX, number)).await }
    };
    let sent = load::paced(count, RATE, create).await?;
    bench.objects += count;
    let copies = bench.copies(PREFIX, count).await?;
    Ok((sent, copies))
}

async fn statuses(bench: &Bench, copies: Copies, count: usize) -> anyhow::Result<(Vec<Request>, Copies)> {
    let mut origins = Sightings::begin(&[&bench.stage.person], &[Kind::Modified]).await?;
    let controllers = bench.stage.controllers.clone();
    let copies = Arc::new(copies);
    let write = move |number: usize| {
        let (controllers, copies) = (controllers.clone(), Arc::clone(&copies));
        async move {
            let copy = super::copy_of(&copies, PREFIX, number)?;
            widget::write_status(&controllers[copy.server], &copy.name, 1).await
        }
    };
    let sent = load::paced(count, RATE, write).await?;
    let written = |sighting: &Sighting| sighting.revision == 1 && sighting.name.starts_with(PREFIX);
    let seen = origins.collect(count, PATIENCE, written).await?;
    Ok((sent, seen))
}
