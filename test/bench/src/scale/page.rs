//! The page of the broker (`--dashboard-bind-address`), on loopback, as a browser without anything of it loads it: its HTML by a
//! connection of its own, then all its assets at the same time. What it shows has to be all that there is.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::layout::Layout;
use super::{Scale, paint, say};
use crate::broker::Broker;
use crate::latency::Latencies;
use crate::probe;
use crate::report::{Goal, Report, ratio};

const PART: &str = "scale: the page while nothing happens";
/// What a person may wait until it is painted, in milliseconds.
const PAINT: f64 = 300.0;
/// What all of it may have, in KB.
const SIZE: f64 = 200.0;
/// How many search while nothing happens.
const SEARCHES: usize = 20;
/// How long after another: what the broker has gathered is good for less, so that each has it gathered anew.
const EVERY: Duration = Duration::from_secs(1);
/// What the page needs beside itself.
const ASSETS: [&str; 3] = ["/style.css", "/script.js", "/icon.svg"];
/// A search that walks over all objects, and finds none.
const SEARCH: &str = "/search?q=none-of-this-name";
/// Where what changes is sent, how many may listen at once, and how long it is looked what that costs.
const EVENTS: &str = "/events";
const LISTENERS: usize = 64;
const LISTEN: Duration = Duration::from_secs(5);

/// Where it is, and what it has to show.
#[derive(Clone, Debug)]
pub(super) struct Page {
    address: String,
    shows: [String; 2],
}

/// The page was loaded once.
pub(super) struct Load {
    /// From before its connection until its first byte, and until its last.
    first: Duration,
    whole: Duration,
    /// The same until the last byte of the last asset.
    all: Duration,
    /// Bytes of the page, and of its assets, heads included.
    page: usize,
    assets: usize,
}

impl Page {
    /// At an address that nobody has.
    pub(super) fn new(layout: &Layout) -> anyhow::Result<Self> {
        // The hub is one of the clusters that it shows.
        let (clusters, objects) = (layout.clusters() + 1, layout.objects());
        let shows = [format!(" of {clusters} ready"), format!(" of {objects} served")];
        Ok(Self { address: harness::free_address()?, shows })
    }

    /// Flags by which the broker serves it.
    pub(super) fn flags(&self) -> [String; 2] {
        ["--dashboard-bind-address".to_owned(), self.address.clone()]
    }

    async fn load(&self) -> anyhow::Result<Load> {
        let began = Instant::now();
        let page = probe::fetch(&self.address, "/").await?;
        let [style, script, icon] = ASSETS.map(|path| probe::fetch(&self.address, path));
        let (style, script, icon) = tokio::try_join!(style, script, icon)?;
        let all = began.elapsed();
        for shown in &self.shows {
            anyhow::ensure!(page.body.contains(shown), "the page does not show “{shown}”");
        }
        anyhow::ensure!(page.body.trim_end().ends_with("</html>"), "the page is not whole");
        let assets = style.bytes + script.bytes + icon.bytes;
        Ok(Load { first: page.first, whole: page.whole, all, page: page.bytes, assets })
    }
}

/// The page is loaded again and again, beside what else is done.
pub(super) struct Loading {
    done: oneshot::Sender<()>,
    loads: JoinHandle<anyhow::Result<Vec<Load>>>,
}

impl Loading {
    /// From now on.
    pub(super) fn begin(page: &Page) -> Self {
        let page = page.clone();
        let (done, mut ended) = oneshot::channel();
        let loads = tokio::spawn(async move {
            let mut loads = Vec::new();
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = &mut ended => return anyhow::Ok(loads),
                    _ = ticks.tick() => loads.push(page.load().await?),
                }
            }
        });
        Self { done, loads }
    }

    /// Until now.
    pub(super) async fn end(self) -> anyhow::Result<Vec<Load>> {
        // Where it has ended by itself it says why.
        let _ = self.done.send(());
        self.loads.await?.context("the page")
    }
}

/// Measures it while nothing happens.
pub(super) async fn measure(scale: &mut Scale) -> anyhow::Result<()> {
    scale.ground.quiet().await?;
    say("the page");
    let page = scale.ground.page.clone();
    let (mut loads, mut searches) = (Vec::new(), Vec::new());
    for _ in 0..scale.ground.layout.loads {
        loads.push(page.load().await?);
        sleep(EVERY).await;
    }
    for _ in 0..SEARCHES {
        let found = probe::fetch(&page.address, SEARCH).await?;
        anyhow::ensure!(found.body.contains("There is none"), "something was found by {SEARCH}");
        searches.push(found.whole);
    }
    let paints = paint::paints(&page.address, scale.ground.layout.loads, EVERY).await?;
    let alone = busy(&scale.broker).await?;
    let heard = listened_to(&page.address, &scale.broker).await?;

    let report = &mut scale.ground.report;
    tell(report, PART, &loads)?;
    match paints {
        Ok(paints) => {
            let paints = Latencies::new(paints)?;
            // Each in a browser that has seen nothing yet, beside all the stubs of this process: the longest is theirs.
            let half = "painted first in Chromium, half of the time";
            report.judge(PART, half, paints.percentile(50), "ms", Goal::AtMost(PAINT));
            report.note(PART, "painted first in Chromium p99", paints.percentile(99), "ms");
        }
        Err(why) => say(&format!("not painted in Chromium: {why}")),
    }
    let searches = Latencies::new(searches)?;
    report.note(PART, "a search that finds nothing p50", searches.percentile(50), "ms");
    report.judge(PART, "a search that finds nothing p99", searches.percentile(99), "ms", Goal::AtMost(PAINT));
    report.note(PART, "broker CPU while nobody looks", alone, "% of a core");
    report.note(PART, format!("broker CPU while {LISTENERS} look"), heard, "% of a core");
    Ok(())
}

/// Tells how it was loaded in a part.
pub(super) fn tell(report: &mut Report, part: &'static str, loads: &[Load]) -> anyhow::Result<()> {
    let of = |took: fn(&Load) -> Duration| Latencies::new(loads.iter().map(took).collect());
    let (first, whole, all) = (of(|load| load.first)?, of(|load| load.whole)?, of(|load| load.all)?);
    report.note(part, "the page was loaded", ratio(loads.len(), 1), "times");
    for (name, took) in [("  its first byte", &first), ("  its last byte", &whole)] {
        report.note(part, format!("{name} p50"), took.percentile(50), "ms");
        report.note(part, format!("{name} p99"), took.percentile(99), "ms");
    }
    report.note(part, "  all of it with its assets p50", all.percentile(50), "ms");
    report.judge(part, "  all of it with its assets p99", all.percentile(99), "ms", Goal::AtMost(PAINT));
    let most = |bytes: fn(&Load) -> usize| ratio(loads.iter().map(bytes).max().unwrap_or_default(), 1_000);
    report.note(part, "  the page, at the most", most(|load| load.page), "KB");
    report.note(part, "  its assets", most(|load| load.assets), "KB");
    let all = most(|load| load.page + load.assets);
    report.judge(part, "  all of it, at the most", all, "KB", Goal::AtMost(SIZE));
    Ok(())
}

/// CPU time of the broker in a while, in percent of a core.
async fn busy(broker: &Broker) -> anyhow::Result<f64> {
    let (cpu, began) = (broker.cpu()?, Instant::now());
    sleep(LISTEN).await;
    Ok((broker.cpu()? - cpu) / began.elapsed().as_secs_f64() / 10.0)
}

/// The same while as many listen to what changes on the page as may.
async fn listened_to(address: &str, broker: &Broker) -> anyhow::Result<f64> {
    let mut listeners = JoinSet::new();
    for _ in 0..LISTENERS {
        let mut stream = probe::ask(address, EVENTS).await?;
        let mut told = vec![0_u8; 64 << 10];
        let read = stream.read(&mut told).await?;
        let head = String::from_utf8_lossy(&told[..read]).into_owned();
        anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "{EVENTS}: {head}");
        listeners.spawn(async move { while stream.read(&mut told).await.is_ok_and(|read| read > 0) {} });
    }
    let busy = busy(broker).await?;
    anyhow::ensure!(listeners.try_join_next().is_none(), "who listened was sent away");
    Ok(busy)
}
