//! One size of what the broker has to do with, and what a burst of creates costs in it.
//!
//! Before each burst the broker starts anew: all begin alike, and nothing is left of what was there before.

use std::time::{Duration, Instant};

use harness::wait_for;

use super::{Bench, CLIENTS, DEADLINE, SETTLED, WARM_UP, name, say};
use crate::extra::Extras;
use crate::load;
use crate::report::{Goal, Report, ratio};
use crate::usage::CpuTime;
use crate::{tally, widget};

/// How many times the smallest figure the largest may be: a decision is about one object, so it should not matter who
/// else is there.
const TIMES: f64 = 1.3;

/// What was measured of one size.
pub(super) struct Cell {
    /// Clusters that the broker knew.
    pub(super) clusters: usize,
    /// Objects that were there when it started.
    pub(super) objects: usize,
    /// Seconds from the start until all was quiet.
    pub(super) started: f64,
    /// CPU time of that, in seconds.
    start_cpu: f64,
    /// Writes of the start.
    pub(super) writes: usize,
    /// Memory after that, in KiB, what reading all of it took for a moment included.
    resident: f64,
    /// The same after the burst, with its objects: as many in each cell.
    pub(super) resident_later: f64,
    /// CPU time while nothing happens, in percent of a core.
    idle: f64,
    /// CPU time of the burst until all was quiet, in milliseconds per object.
    cpu: f64,
    /// Turns in the queue per object.
    turns: f64,
    /// Milliseconds that one decision takes, and decisions per object; `None` where the broker does not tell.
    decision: Option<(f64, f64)>,
}

/// So long it may take until an object is served, when there are many.
const PER_OBJECT: Duration = Duration::from_millis(20);

impl Bench {
    /// Creates objects until there are so many.
    pub(super) async fn fill_up(&mut self, size: usize) -> anyhow::Result<()> {
        say(&format!("up to {size} objects"));
        let prefix = self.prefix();
        let more = size.saturating_sub(self.objects);
        self.fill(prefix, more).await?;
        // API servers take what people write faster than what comes of it: the more, the longer that goes on.
        let all = u32::try_from(more).unwrap_or(u32::MAX);
        self.stage.quiet(SETTLED, DEADLINE + PER_OBJECT * all).await
    }

    /// Deletes the objects of a burst.
    pub(super) async fn take_away(&mut self, prefix: &'static str) -> anyhow::Result<()> {
        let (person, count) = (self.stage.person.clone(), self.sizes.burst);
        let delete = move |number: usize| {
            let person = person.clone();
            async move { widget::delete(&person, &name(prefix, number)).await }
        };
        load::at_full_speed(count, CLIENTS, delete).await?;
        self.objects -= count;
        self.stage.quiet(SETTLED, DEADLINE).await
    }

    /// A prefix that no objects have yet.
    fn prefix(&self) -> &'static str {
        format!("made{:05}", self.made).leak()
    }

    /// Starts the broker anew and measures a burst; returns its objects' prefix, too.
    pub(super) async fn burst(
        &mut self,
        part: &'static str,
        extras: Option<&Extras>,
    ) -> anyhow::Result<(Cell, &'static str)> {
        let (count, objects) = (self.sizes.burst, self.objects);
        let clusters = self.sizes.clusters[0] + extras.map_or(0, Extras::count);
        say(&format!("a burst of {count} with {clusters} clusters known and {objects} objects held"));
        self.broker.stop().await?;
        let mark = self.stage.mark().await?;
        let flags = extras.map(Extras::flags).unwrap_or_default();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        self.broker.start_again(&self.stage, &flags)?;
        let started = self.broker.seconds_to_quiet(&self.stage, &mark).await?;
        let start_cpu = self.broker.cpu()? / 1_000.0;
        all_watched(extras).await?;
        let idle = self.idle().await?;
        // What it would write late is also a write of the start.
        let writes = tally::writes(&self.stage.broker_requests(&mark).await?);
        let resident = self.broker.resident_kib()?;
        let warm = self.prefix();
        self.fill(warm, WARM_UP).await?;

        let (decisions, turns) = (self.broker.decisions().await?, self.broker.turns().await?);
        let (all, cpu, began) = (CpuTime::now()?, self.broker.cpu()?, Instant::now());
        let prefix = self.prefix();
        self.fill(prefix, count).await?;
        self.report.noise(&(CpuTime::now()? - &all), began, part);
        self.stage.quiet(SETTLED, DEADLINE).await?;
        let cpu = (self.broker.cpu()? - cpu) * ratio(1, count);
        let turns = (self.broker.turns().await? - turns) * ratio(1, count);
        let decision = decisions.zip(self.broker.decisions().await?).map(|(before, after)| {
            let (decisions, seconds) = (after.0 - before.0, after.1 - before.1);
            (seconds * 1_000.0 / decisions, decisions * ratio(1, count))
        });
        let resident_later = self.broker.resident_kib()?;
        let later = resident_later / 1_024.0;
        say(&format!("quiet after {started:.1} s, {cpu:.2} ms per object, then {later:.0} MiB"));
        let cell = Cell {
            clusters,
            objects,
            started,
            start_cpu,
            writes,
            resident,
            resident_later,
            idle,
            cpu,
            turns,
            decision,
        };
        Ok((cell, prefix))
    }

    /// CPU time of the broker while nothing happens, in percent of a core.
    async fn idle(&self) -> anyhow::Result<f64> {
        let (cpu, began) = (self.broker.cpu()?, Instant::now());
        tokio::time::sleep(SETTLED).await;
        Ok((self.broker.cpu()? - cpu) / began.elapsed().as_secs_f64() / 10.0)
    }
}

/// Clusters that nobody watches would make no difference.
async fn all_watched(extras: Option<&Extras>) -> anyhow::Result<()> {
    let Some(extras) = extras else { return Ok(()) };
    wait_for(DEADLINE, "all idle clusters to be watched", async || {
        let (watched, count) = (extras.watched(), extras.count());
        anyhow::ensure!(watched == count, "{watched} of {count}, after {} requests", extras.requests());
        Ok(())
    })
    .await
}

impl Cell {
    /// Tells all of it. `size`: in a word, which it is.
    fn note(&self, report: &mut Report, part: &'static str, size: &str) {
        report.note(part, format!("{size}: process start to quiet"), self.started, "s");
        report.note(part, format!("{size}: broker CPU of that"), self.start_cpu, "s");
        report.note(part, format!("{size}: resident"), self.resident / 1_024.0, "MiB");
        let later = self.resident_later / 1_024.0;
        report.note(part, format!("{size}: resident after a burst, with its objects"), later, "MiB");
        report.note(part, format!("{size}: broker CPU while nothing happens"), self.idle, "% of a core");
        report.note(part, format!("{size}: broker CPU per object of a burst"), self.cpu, "ms");
        report.note(part, format!("{size}: turns in the queue per object"), self.turns, "");
        if let Some((took, count)) = self.decision {
            report.note(part, format!("{size}: one decision"), took * 1_000.0, "µs");
            report.note(part, format!("{size}: decisions per object"), count, "");
        }
    }
}

/// Tells of all sizes, and how far they lie apart.
pub(super) fn tell(report: &mut Report, part: &'static str, cells: &[&Cell], size: impl Fn(&Cell) -> String) {
    for cell in cells {
        cell.note(report, part, &size(cell));
    }
    let cpu: Vec<f64> = cells.iter().map(|cell| cell.cpu).collect();
    report.judge(part, "broker CPU of a burst, largest ÷ smallest", times(&cpu), "", Goal::AtMost(TIMES));
    match cells.iter().map(|cell| cell.decision.map(|(took, _)| took)).collect::<Option<Vec<f64>>>() {
        Some(took) => report.judge(part, "one decision, largest ÷ smallest", times(&took), "", Goal::AtMost(TIMES)),
        None => report.remark(format!("{part}: one decision: n/a, this broker does not tell how long it takes")),
    }
}

/// The largest figure by the smallest.
fn times(figures: &[f64]) -> f64 {
    let largest = figures.iter().copied().fold(0.0, f64::max);
    largest / figures.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use super::*;

    #[test]
    fn figures_are_compared_with_the_smallest() {
        assert_eq!(times(&[2.0, 1.0, 1.5]), 2.0);
        assert_eq!(times(&[3.0]), 1.0);
    }
}
