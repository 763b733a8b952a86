//! All objects of a part leave their provider: what that takes, with and without stages.

use std::time::{Duration, Instant};

use super::ceiling::Ceiling;
use super::{Bench, Copies, DEADLINE, PATIENCE, SETTLED, WARM, migrations, moves, say};
use crate::load::per_second;
use crate::report::ratio;
use crate::sighting::{Kind, Sighting, Sightings};
use crate::stage::{Marks, PERSON, PROVIDER, Requests};
use crate::tally;
use crate::usage::CpuTime;

/// Flags of the broker by which nothing waits for its turn.
pub(super) const ALL_AT_ONCE: [&str; 2] = ["--max-moves", "100000"];
/// Positions of the providers.
pub(super) const EAST: usize = 0;
pub(super) const WEST: usize = 1;
/// Whose objects there are.
const ALL: [&str; 3] = [WARM, moves::PREFIX, migrations::PREFIX];
/// What the clusters are called in the report.
const ROLES: [&str; 4] = ["consumer", "old provider", "new provider", "hub"];

impl Bench {
    /// Creates objects that only this provider takes, and waits until they and all that is theirs are in place.
    pub(super) async fn settle_at(
        &mut self,
        provider: usize,
        prefix: &'static str,
        count: usize,
    ) -> anyhow::Result<()> {
        say(&format!("{count} objects at one provider"));
        self.stage.offer(1 - provider, &others(prefix)).await?;
        self.stage.offer(provider, &ALL).await?;
        self.stage.offers_ready().await?;
        self.fill(prefix, count).await?;
        self.stage.quiet(SETTLED, DEADLINE).await
    }
}

/// All but one: their objects stay where they are.
fn others(prefix: &str) -> Vec<&'static str> {
    ALL.into_iter().filter(|other| *other != prefix).collect()
}

/// Objects that leave a provider.
pub(super) struct Departure {
    part: &'static str,
    prefix: &'static str,
    to: usize,
    count: usize,
    origins: Sightings,
    marks: Marks,
    cpu: CpuTime,
    broker_cpu: f64,
    turns: f64,
    began: Instant,
}

/// What a departure took.
pub(super) struct Taken {
    part: &'static str,
    count: usize,
    /// Until the last object had arrived.
    span: Duration,
    /// CPU time until then.
    used: CpuTime,
    broker_cpu: f64,
    /// And until all was quiet.
    broker_cpu_in_all: f64,
    turns: f64,
    /// Of the broker.
    pub(super) requests: Vec<Requests>,
    /// Writes of the others that took part.
    others: usize,
}

impl Departure {
    /// From now on, the objects with this prefix are accepted by this provider and no longer by the other.
    pub(super) async fn begin(
        bench: &Bench,
        part: &'static str,
        prefix: &'static str,
        to: usize,
        count: usize,
    ) -> anyhow::Result<Self> {
        say(&format!("{count} objects leave their provider: {part}"));
        bench.stage.quiet(SETTLED, DEADLINE).await?;
        let origins = Sightings::begin(&[&bench.stage.person], &[Kind::Modified]).await?;
        let marks = bench.stage.mark().await?;
        bench.stage.offer(to, &ALL).await?;
        let (cpu, broker_cpu) = (CpuTime::now()?, bench.broker.cpu()?);
        let turns = bench.broker.turns().await?;
        let began = Instant::now();
        bench.stage.offer(1 - to, &others(prefix)).await?;
        Ok(Self { part, prefix, to, count, origins, marks, cpu, broker_cpu, turns, began })
    }

    /// When each object was assigned to its new provider alone, by name.
    pub(super) async fn arrivals(&mut self, bench: &Bench) -> anyhow::Result<Copies> {
        let (prefix, to) = (self.prefix, bench.stage.providers[self.to].name());
        let arrived = |sighting: &Sighting| {
            sighting.name.starts_with(prefix)
                && sighting.provider.as_deref() == Some(to)
                && sighting.moving_to.is_none()
        };
        self.origins.collect(self.count, PATIENCE, arrived).await
    }

    /// Waits until nothing happens any more.
    pub(super) async fn finish(self, bench: &mut Bench, arrived: &Copies) -> anyhow::Result<Taken> {
        let used = CpuTime::now()? - &self.cpu;
        let broker_cpu = bench.broker.cpu()? - self.broker_cpu;
        bench.report.noise(&used, self.began, self.part);
        let last = arrived.values().map(|sighting| sighting.at).max().unwrap_or(self.began);
        bench.stage.quiet(SETTLED, DEADLINE).await?;
        let mut others = 0;
        for user in [PERSON, PROVIDER] {
            others += tally::work(&bench.stage.requests_of(user, &self.marks).await?);
        }
        let mut requests = bench.stage.broker_requests(&self.marks).await?;
        let to = bench.stage.providers[self.to].name();
        for requests in requests.iter_mut().filter(|requests| requests.role == "provider") {
            requests.role = if requests.cluster == to { "new provider" } else { "old provider" };
        }
        Ok(Taken {
            part: self.part,
            count: self.count,
            span: last - self.began,
            used,
            broker_cpu,
            broker_cpu_in_all: bench.broker.cpu()? - self.broker_cpu,
            turns: bench.broker.turns().await? - self.turns,
            requests,
            others,
        })
    }
}

impl Taken {
    /// The broker's writes per move that are for one object or another.
    pub(super) fn writes(&self) -> f64 {
        ratio(tally::work(&self.requests), self.count)
    }

    /// Those on one resource or its subresource.
    pub(super) fn writes_on(&self, resource: &str, subresource: &str) -> f64 {
        ratio(tally::writes_on(&self.requests, resource, subresource), self.count)
    }

    /// What every departure tells.
    pub(super) fn report(&self, bench: &mut Bench, ceiling: &Ceiling) {
        let (part, report) = (self.part, &mut bench.report);
        let rate = per_second(self.count, self.span);
        report.note(part, "moves", rate, "moves/s");
        let all = self.writes() + ratio(self.others, self.count);
        report.note(part, "writes per move, those of the providers and of people included", all, "");
        report.note(part, "moves ÷ (ceiling ÷ these writes)", rate / (ceiling.rate / all), "");
        let by_cpu = all * ceiling.cpu / (self.used.ours() * ratio(1, self.count));
        report.note(part, "the same by CPU time (noise hardly counts)", by_cpu, "");
        for role in ROLES {
            let of_role = ratio(tally::work_at(&self.requests, role), self.count);
            report.note(part, format!("writes per move: {role}"), of_role, "");
        }
        report.note(part, "Events per move", ratio(tally::events(&self.requests), self.count), "");
        report.note(part, "reads per move", ratio(tally::reads(&self.requests), self.count), "");
        report.note(part, "broker CPU per move until the last", self.broker_cpu * ratio(1, self.count), "ms");
        report.note(part, "broker CPU per move until quiet", self.broker_cpu_in_all * ratio(1, self.count), "ms");
        report.note(part, "turns in the broker's queue per move", self.turns * ratio(1, self.count), "");
        report.requests(part, tally::by_verb(&self.requests), self.count);
    }
}
