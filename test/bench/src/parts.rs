//! The parts of the bench, on a stage with a broker.

mod burst;
mod ceiling;
mod cell;
mod command_line;
mod departure;
mod fleet;
mod held;
mod hostile;
mod idle;
mod memory;
mod migrations;
mod moves;
mod paced;
mod restart;
mod writes;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;

use crate::broker::Broker;
use crate::latency::Latencies;
use crate::load::{self, Request};
use crate::options::{Options, Part, Sizes};
use crate::provider::{Controllers, Serving};
use crate::report::{Goal, Report};
use crate::sighting::{Kind, Sighting, Sightings};
use crate::stage::Stage;
use crate::{tally, widget};

use command_line::CommandLine;

/// How long the broker may take to come to rest.
const DEADLINE: Duration = Duration::from_mins(2);
/// How long to wait for the next sighting.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the broker must ask for nothing until its work counts as done: Events and the AcceptAPIs' status come late.
const SETTLED: Duration = Duration::from_secs(2);
/// Clients at once where no ceiling was measured.
const CLIENTS: usize = 16;
/// Objects that come before everything that is measured: connections, namespaces and code paths are warm.
const WARM_UP: usize = 50;
const WARM: &str = "warm";

/// What the parts share.
pub(crate) struct Bench {
    stage: Stage,
    broker: Broker,
    /// Copies, as they appear at the providers.
    copies: Sightings,
    sizes: Sizes,
    /// Objects there are.
    objects: usize,
    /// Objects that were ever made.
    made: usize,
    /// Resident memory of the broker, in KiB, and the objects that it had then.
    base: (f64, usize),
    report: Report,
}

impl Bench {
    /// Starts everything and warms it up.
    pub(crate) async fn start(sizes: Sizes, report: Report) -> anyhow::Result<Self> {
        say("starting four API servers");
        Self::on(Box::pin(Stage::build()).await?, sizes, report).await
    }

    /// The same, with a further consumer whose owner attacks.
    pub(crate) async fn start_hostile(sizes: Sizes, report: Report) -> anyhow::Result<Self> {
        say("starting five API servers");
        let stage = Box::pin(Stage::build()).await?;
        Self::on(Box::pin(stage.with_rogue()).await?, sizes, report).await
    }

    async fn on(stage: Stage, sizes: Sizes, report: Report) -> anyhow::Result<Self> {
        say("starting the broker");
        let mut broker = Broker::start(&stage)?;
        broker.ready().await?;
        stage.offers_ready().await?;
        let [east, west] = &stage.controllers;
        let copies = Sightings::begin(&[east, west], &[Kind::Added]).await?;
        let mut bench = Self { stage, broker, copies, sizes, objects: 0, made: 0, base: (0.0, 0), report };
        bench.fill(WARM, WARM_UP).await?;
        bench.stage.quiet(SETTLED, DEADLINE).await?;
        bench.base = (bench.broker.resident_kib()?, bench.objects);
        Ok(bench)
    }

    /// Measures what is wanted of objects that stay.
    pub(crate) async fn run_staying(mut self, options: &Options) -> anyhow::Result<Report> {
        // First, while there are few objects: what is measured is the start.
        let mut command_line = None;
        if options.wants(Part::CommandLine) {
            command_line = Some(CommandLine::cold(&mut self).await?);
        }
        if options.wants(Part::Paced) {
            paced::measure(&mut self).await?;
        }
        if options.wants(Part::Writes) {
            writes::measure(&mut self).await?;
        }
        if options.wants(Part::Burst) {
            burst::measure(&mut self).await?;
        }
        if options.wants_any(&[Part::Memory, Part::Restart, Part::CommandLine]) {
            memory::measure(&mut self).await?;
        }
        if let Some(command_line) = command_line {
            command_line.table(&mut self).await?;
        }
        if options.wants(Part::Restart) {
            restart::measure(&mut self).await?;
        }
        if options.wants(Part::Idle) {
            idle::measure(&mut self).await?;
        }
        let stopped = self.broker.stop().await?;
        self.report.judge("stop", "SIGTERM to exit 0", stopped, "s", Goal::AtMost(5.0));
        Ok(self.report)
    }

    /// Measures what is wanted of objects that move.
    pub(crate) async fn run_moving(mut self, options: &Options) -> anyhow::Result<Report> {
        let ceiling = ceiling::measure(&mut self).await?;
        let _providers = Controllers::start(&self.stage.controllers, Serving::Secret).await?;
        if options.wants(Part::Moves) {
            moves::measure(&mut self, ceiling).await?;
        }
        if options.wants(Part::Migrations) {
            migrations::measure(&mut self, ceiling).await?;
        }
        self.broker.stop().await?;
        Ok(self.report)
    }

    /// Measures what others feel of attacks.
    pub(crate) async fn run_hostile(mut self) -> anyhow::Result<Report> {
        hostile::measure(&mut self).await?;
        self.broker.stop().await?;
        Ok(self.report)
    }

    /// Measures what is wanted of sizes.
    pub(crate) async fn run_growing(mut self, options: &Options) -> anyhow::Result<Report> {
        let smallest = fleet::smallest(&mut self).await?;
        if options.wants(Part::Fleet) {
            fleet::measure(&mut self, &smallest).await?;
        }
        if options.wants(Part::Held) {
            held::measure(&mut self, &smallest).await?;
        }
        self.broker.stop().await?;
        Ok(self.report)
    }

    /// Creates `count` objects at full speed and waits for their copies.
    async fn fill(&mut self, prefix: &'static str, count: usize) -> anyhow::Result<(Vec<Request>, Copies)> {
        let person = self.stage.person.clone();
        let create = move |number: usize| {
            let person = person.clone();
            async move { widget::create(&person, &name(prefix, number)).await }
        };
        let load = tokio::spawn(load::at_full_speed(count, CLIENTS, create));
        let seen = self.copies(prefix, count).await;
        let sent = load.await??;
        self.objects += count;
        self.made += count;
        Ok((sent, seen?))
    }

    /// Waits for the copies of all objects with this prefix.
    async fn copies(&mut self, prefix: &str, count: usize) -> anyhow::Result<Copies> {
        let of_prefix =
            |sighting: &Sighting| tally::origin_of(&sighting.name).is_some_and(|name| name.starts_with(prefix));
        let seen = self.copies.collect(count, PATIENCE, of_prefix).await?;
        let by_origin = seen.into_iter().filter_map(|(copy, sighting)| {
            let origin = tally::origin_of(&copy)?.to_owned();
            Some((origin, sighting))
        });
        Ok(by_origin.collect())
    }
}

/// Where and when the copy of each origin appeared, by the origin's name.
type Copies = HashMap<String, Sighting>;

/// Name of one of the objects of a part.
fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}-{number:05}")
}

/// Tells the person who waits.
fn say(what: &str) {
    eprintln!("bench: {what}");
}

/// The copy of one of the objects of a part.
fn copy_of<'a>(copies: &'a Copies, prefix: &str, number: usize) -> anyhow::Result<&'a Sighting> {
    let name = name(prefix, number);
    copies.get(&name).with_context(|| format!("{name} has no copy"))
}

/// From the answer to a request until what came of it was seen; the watch may be faster than the answer, which counts
/// as 0. The second: from before the request.
fn latencies(
    prefix: &str,
    sent: &[Request],
    seen: &HashMap<String, Sighting>,
) -> anyhow::Result<(Latencies, Latencies)> {
    let pairs: Vec<_> = sent.iter().filter_map(|one| Some((one, seen.get(&name(prefix, one.number))?.at))).collect();
    anyhow::ensure!(pairs.len() == sent.len(), "{} of {} were seen", pairs.len(), sent.len());
    let since_answer = pairs.iter().map(|(one, at)| at.saturating_duration_since(one.answered)).collect();
    let since_request = pairs.iter().map(|(one, at)| at.saturating_duration_since(one.begun)).collect();
    Ok((Latencies::new(since_answer)?, Latencies::new(since_request)?))
}
