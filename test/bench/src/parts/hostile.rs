//! What another tenant feels of an attack: creates at 10 a second, in quiet and while it goes on.

use anyhow::Context as _;

use super::{Bench, DEADLINE, SETTLED, latencies, name, say};
use crate::load;
use crate::options::RATE;
use crate::report::Goal;
use crate::rogue::Attack;
use crate::tally;
use crate::widget;

/// How many times its quiet 99th percentile the other tenant may wait (I6).
const TIMES: f64 = 2.0;
/// The longest that anybody may wait, in milliseconds.
const LONGEST: f64 = 2_000.0;

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let calm: Vec<String> = (0..=Attack::ALL.len()).map(|part| format!("calm{part}")).collect();
    let calm: Vec<&'static str> = calm.into_iter().map(|part| &*part.leak()).collect();
    let rogue: Vec<&str> = Attack::ALL.iter().map(|attack| attack.prefix()).collect();
    bench.stage.offer(0, &calm).await?;
    bench.stage.offer(1, &rogue).await?;
    bench.stage.offers_ready().await?;
    let quiet = creates(bench, "hostile: quiet", calm[0]).await?;
    for (attack, prefix) in Attack::ALL.into_iter().zip(&calm[1..]) {
        under(bench, attack, prefix, quiet).await?;
    }
    Ok(())
}

/// One attack. `quiet`: the 99th percentile without any.
async fn under(bench: &mut Bench, attack: Attack, prefix: &'static str, quiet: f64) -> anyhow::Result<()> {
    let rogue = bench.stage.rogue.take().context("there is nobody to attack")?;
    say(&format!("attack: {}", attack.name()));
    rogue.prepare(attack).await?;
    let mark = rogue.cluster.audit().settle().await?;
    let cpu = bench.broker.cpu()?;
    let part: &'static str = format!("hostile: {}", attack.name()).leak();
    let began = std::time::Instant::now();
    let p99 = tokio::select! {
        failed = rogue.attack(attack) => anyhow::bail!("the attack ended: {failed:?}"),
        p99 = creates(bench, part, prefix) => p99?,
    };
    let seconds = began.elapsed().as_secs_f64();
    let requests = bench.stage.rogue_requests(&rogue, mark).await?;
    let report = &mut bench.report;
    report.judge(part, "p99 ÷ quiet p99", p99 / quiet, "", Goal::AtMost(TIMES));
    #[allow(clippy::cast_precision_loss)]
    let writes = tally::writes(&requests) as f64 / seconds;
    report.note(part, "the broker's writes to the attacker's cluster", writes, "/s");
    report.note(part, "broker CPU", (bench.broker.cpu()? - cpu) / seconds / 10.0, "% of a core");
    report.note(part, "resident", bench.broker.resident_kib()? / 1_024.0, "MiB");
    rogue.tidy(attack).await?;
    bench.stage.rogue = Some(rogue);
    bench.stage.quiet(SETTLED, DEADLINE).await
}

/// Creates of the tenant who has done nothing. Returns the 99th percentile of create→copy, in milliseconds.
async fn creates(bench: &mut Bench, part: &'static str, prefix: &'static str) -> anyhow::Result<f64> {
    let count = bench.sizes.paced;
    let person = bench.stage.person.clone();
    let create = move |number: usize| {
        let person = person.clone();
        async move { widget::create(&person, &name(prefix, number)).await }
    };
    let sent = load::paced(count, RATE, create).await?;
    bench.objects += count;
    let copies = bench.copies(prefix, count).await?;
    let (since_answer, _) = latencies(prefix, &sent, &copies)?;
    let p99 = since_answer.percentile(99);
    bench.report.note(part, "create→copy p50", since_answer.percentile(50), "ms");
    bench.report.judge(part, "create→copy p99", p99, "ms", Goal::AtMost(LONGEST));
    Ok(p99)
}
