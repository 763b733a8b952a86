//! Many clusters with many objects: 50,000 of them in 1,000 consumers, and 100 providers (`make bench-scale`).
//!
//! The hub, one consumer and two providers are real API servers, and theirs is the tenant that asks for much. All other
//! clusters are stubs in this process ([`stub`]), each at an address of its own, over TLS and HTTP/2 as real ones: a thousand
//! real ones would need a machine of their own. A stub holds objects as bytes and changes them as an API server would
//! ([`store`]); what it is asked for beside these it answers as a real one did while nothing happened. Its providers'
//! controllers serve each copy at once. People's edits in stubs are made in this process, and when something changes there
//! is known without asking.
//!
//! What is timed:
//! - a cold start: from the broker's start until each object has its copy, and the consumer shows the status of it.
//! - a restart: from the broker's start until its indexes are complete, its queue is empty and its last request is answered.
//! - an edit: from the edit until the copy has it, and until the consumer shows what the provider says of it.
//! - the page (`--dashboard-bind-address`): from before the connection until its first and its last byte, and until those of its
//!   assets; while nothing happens, and while a tenant edits. And until it is painted first, where there is Chromium.
//! - a loss: from the moment at which a provider answers nobody any more until the last of its objects has another copy.

mod answer;
mod asked;
mod change;
mod cold_start;
mod flood;
mod kind;
mod layout;
mod line;
mod loss;
mod object;
mod page;
mod paint;
mod real;
mod refusal;
mod restart;
mod store;
mod stub;
mod stubs;

use std::time::{Duration, Instant};

use harness::wait_for;
use rustix::process::{Resource, getrlimit};

use self::asked::Writes;
use self::layout::{BUSY, Layout, name};
use self::page::Page;
use self::stubs::Stubs;
use crate::broker::Broker;
use crate::extra::allow_files;
use crate::load;
use crate::options::Options;
use crate::provider::{Controllers, Serving};
use crate::report::{Goal, Report, ratio};
use crate::stage::{Marks, Stage};
use crate::{tally, usage, widget};

/// How long any one thing may take.
const DEADLINE: Duration = Duration::from_mins(10);
/// How long to wait for the next change.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long the broker must write nothing until its work counts as done: Events and the AcceptAPIs' status come late.
const SETTLED: Duration = Duration::from_secs(3);
/// Clients at once.
const CLIENTS: usize = 16;
/// Files that this process opens beside its sockets, with room to spare.
const FILES: u64 = 500;
/// Sockets for each cluster, here: one to listen at, one for what the broker reads and one for what it writes, and one more
/// for a connection that takes the place of another.
const SOCKETS: u64 = 4;

/// Clusters with all their objects, before there is a broker.
struct Ground {
    stage: Stage,
    stubs: Stubs,
    layout: Layout,
    page: Page,
    _controllers: Controllers,
    report: Report,
}

/// The same with a broker.
struct Scale {
    ground: Ground,
    broker: Broker,
}

/// Measures all of it.
pub(crate) async fn run(options: &Options, report: Report) -> anyhow::Result<Report> {
    anyhow::ensure!(options.scale > 0.0 && options.scale <= 10.0, "--scale: a number above 0, and 10 at the most");
    let ground = Box::pin(Ground::prepare(Layout::of(options.scale), report)).await?;
    let mut scale = Box::pin(cold_start::measure(ground)).await?;
    Box::pin(restart::measure(&mut scale)).await?;
    Box::pin(page::measure(&mut scale)).await?;
    Box::pin(flood::measure(&mut scale)).await?;
    Box::pin(loss::measure(&mut scale)).await?;
    let Scale { mut ground, mut broker } = scale;
    broker.stop().await?;
    let (strange, examples) = ground.stubs.asked.strange();
    let report = &mut ground.report;
    report.judge("scale", "requests that stubs did not expect", ratio(strange, 1), "", Goal::Exactly(0.0));
    for example in examples {
        report.remark(format!("a stub did not expect {example}"));
    }
    if options.scale < 1.0 {
        report.remark(format!("scale {}: its goals are those of the full numbers", options.scale));
    }
    Ok(ground.report)
}

impl Ground {
    /// Starts all clusters, and fills them.
    async fn prepare(layout: Layout, report: Report) -> anyhow::Result<Self> {
        room_for(&layout)?;
        say("starting four API servers");
        let stage = Box::pin(Stage::build()).await?;
        // The first real provider takes what the tenant asks for, and nobody else does; the second is idle.
        stage.offer(0, &[BUSY]).await?;
        stage.offer(1, &["nothing"]).await?;
        say(&format!("{} objects in a real consumer", layout.busy));
        let person = stage.person.clone();
        let create = move |number: usize| {
            let person = person.clone();
            async move { widget::create(&person, &name(BUSY, number)).await }
        };
        load::at_full_speed(layout.busy, CLIENTS, create).await?;
        let (consumers, providers) = (layout.consumers, layout.providers);
        say(&format!("{} objects in {consumers} stubs of consumers, {providers} of providers", layout.at_stubs()));
        let stubs = Box::pin(Stubs::start(&stage, &layout)).await?;
        let controllers = Controllers::start(&stage.controllers, Serving::Status).await?;
        let page = Page::new(&layout)?;
        Ok(Self { stage, stubs, layout, page, _controllers: controllers, report })
    }

    /// Starts the broker. Returns at once.
    fn start(&self) -> anyhow::Result<Broker> {
        let (clusters, page) = (self.stubs.flags(), self.page.flags());
        let flags: Vec<&str> = clusters.iter().chain(&page).map(String::as_str).collect();
        Broker::start_with(&self.stage, &flags)
    }

    /// A moment: what is written from now on can be counted.
    async fn mark(&self) -> anyhow::Result<(Marks, Writes)> {
        Ok((self.stage.mark().await?, self.stubs.asked.writes()))
    }

    /// How much the broker has written since a moment.
    async fn written(&self, since: &(Marks, Writes)) -> anyhow::Result<usize> {
        let real = tally::writes(&self.stage.broker_requests(&since.0).await?);
        Ok(real + self.stubs.asked.writes_since(&since.1).values().sum::<usize>())
    }

    /// Waits until the broker writes nothing, and forgets what has happened until then.
    async fn quiet(&mut self) -> anyhow::Result<()> {
        wait_for(DEADLINE, "the broker to write nothing", async || {
            let since = self.mark().await?;
            tokio::time::sleep(SETTLED).await;
            let count = self.written(&since).await?;
            anyhow::ensure!(count == 0, "{count} writes within {SETTLED:?}");
            Ok(())
        })
        .await?;
        self.stubs.forget();
        Ok(())
    }
}

impl Scale {
    /// What the broker holds and uses now.
    fn note_memory(&mut self, part: &'static str) -> anyhow::Result<()> {
        let (resident, files) = (self.broker.resident_kib()?, self.broker.open_files()?);
        let stubs = usage::resident_kib(std::process::id())?;
        let report = &mut self.ground.report;
        report.note(part, "resident", resident / 1_024.0, "MiB");
        report.note(part, "files and sockets open", ratio(files, 1), "");
        report.note(part, "resident of all stubs together", stubs / 1_024.0, "MiB");
        say(&format!("the broker holds {:.0} MiB", resident / 1_024.0));
        Ok(())
    }

    /// What it wrote at stubs in a part, in all and for each of so many objects.
    fn note_writes(&mut self, part: &'static str, writes: &Writes, objects: usize) {
        let counts = writes.iter().map(|(what, count)| (format!("stubs: {what}"), *count)).collect();
        self.ground.report.requests(part, counts, objects);
    }
}

/// Whether this process, and the broker with the same limit, may open as many sockets as they need.
fn room_for(layout: &Layout) -> anyhow::Result<()> {
    allow_files();
    let needed = u64::try_from(layout.clusters())? * SOCKETS + FILES;
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    anyhow::ensure!(
        most >= needed,
        "{} clusters take {needed} files and sockets, and this process may open {most}: raise that with ulimit -n, or run a \
         smaller SCALE",
        layout.clusters()
    );
    Ok(())
}

/// Seconds since a moment.
fn seconds(since: Instant, moment: Instant) -> f64 {
    moment.saturating_duration_since(since).as_secs_f64()
}

fn say(what: &str) {
    eprintln!("bench: {what}");
}
