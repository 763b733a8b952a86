//! What the instances of one spoke feel of others: of one in which somebody makes instances as fast as its API server takes
//! them, of such that answer slowly, and of such whose answers nobody can read.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use harness::{Cluster, Lab, LabOptions};
use kube::Client;

use super::{GRAPHS, Hub, Manner, Spokes, options, say};
use crate::graphs::chain::{self, Instance};
use crate::latency::Latencies;
use crate::load;
use crate::options::{RATE, Sizes};
use crate::report::{Goal, Report};
use crate::stage::PERSON;
use crate::watch::{Kind, Watches};

/// How many times its quiet 99th percentile an instance may wait (D10).
const TIMES: f64 = 2.0;
/// Spokes of each bad manner.
const BAD: usize = 8;
/// Clients that flood.
const CLIENTS: usize = 4;
const PATIENCE: Duration = Duration::from_mins(1);
const PAST: Duration = Duration::from_mins(2);

/// The spoke whose instances are timed.
struct Tenant {
    person: Client,
    seen: Watches<Instance>,
}

pub(super) async fn measure(sizes: Sizes, report: &mut Report) -> anyhow::Result<()> {
    let mut hub = Hub::start().await?;
    let paris = spoke(&hub, &hub.lab, "paris").await?;
    // Elsewhere: with an etcd of its own, and with processors that nobody here would miss.
    let remote = Lab::start(LabOptions::default()).await?;
    let tokyo = spoke(&hub, &remote, "tokyo").await?;
    give_way(&remote)?;
    hub.distribute(chain::KIND, 2).await?;
    let person = paris.client(PERSON).await?;
    let seen = Watches::begin(&[&person], &[Kind::Added, Kind::Modified]).await?;
    let mut tenant = Tenant { person, seen };
    say("instances in one spoke, in quiet");
    tenant.creates(sizes, "distributor: quiet neighbours", "warm", report).await?;
    let quiet = tenant.creates(sizes, "distributor: quiet neighbours", "quiet", report).await?;

    say("a neighbour floods");
    let part = "distributor: a neighbour that floods";
    let flooding = tokyo.client(PERSON).await?;
    let (made, began) = (AtomicUsize::new(0), Instant::now());
    let p99 = tokio::select! {
        ended = flood(flooding, &made) => anyhow::bail!("the flood ended: {ended:?}"),
        p99 = tenant.creates(sizes, part, "flooded", report) => p99?,
    };
    report.note(part, "made there", load::per_second(made.load(Ordering::Relaxed), began.elapsed()), "instances/s");
    report.judge(part, "p99 ÷ quiet p99", p99 / quiet, "", Goal::AtMost(TIMES));
    // Whoever floods goes, and what it made stays as it is.
    hub.leave("tokyo").await?;
    drop((tokyo, remote));
    hub.quiet(None).await?;

    let documents = hub.documents().await?;
    for (manner, part, prefix) in [
        (Manner::Slow, "distributor: neighbours that take 5 s for each answer", "slow"),
        (Manner::Broken, "distributor: neighbours whose answers cannot be read", "broken"),
    ] {
        say(&format!("{BAD} neighbours: {manner:?}"));
        let others = Spokes::start(BAD, manner, documents.clone()).await?;
        for (number, kubeconfig) in others.kubeconfigs.iter().enumerate() {
            hub.join(&format!("{prefix}-{number}"), kubeconfig).await?;
        }
        others.until_asked(PAST).await?;
        let p99 = tenant.creates(sizes, part, prefix, report).await?;
        report.judge(part, "p99 ÷ quiet p99", p99 / quiet, "", Goal::AtMost(TIMES));
        for number in 0..BAD {
            hub.leave(&format!("{prefix}-{number}")).await?;
        }
    }
    hub.controller.stop().await
}

/// Whatever runs in a lab gets the time that others leave.
fn give_way(lab: &Lab) -> anyhow::Result<()> {
    let directory = lab.directory().display().to_string();
    let is_of_lab = |path: &Path| fs::read_to_string(path.join("cmdline")).is_ok_and(|line| line.contains(&directory));
    for process in fs::read_dir("/proc")?.filter_map(Result::ok).filter(|entry| is_of_lab(&entry.path())) {
        let Ok(threads) = fs::read_dir(process.path().join("task")) else { continue };
        let threads = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
        let told = Command::new("renice").args(["-n", "19", "-p"]).args(threads).output();
        let told = told.context("cannot run renice")?;
        anyhow::ensure!(told.status.success(), "renice: {}", String::from_utf8_lossy(&told.stderr));
    }
    Ok(())
}

async fn spoke(hub: &Hub, lab: &Lab, name: &str) -> anyhow::Result<Cluster> {
    let spoke = lab.cluster_with(name, &options()).await?;
    let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", chain::NAMESPACE);
    spoke.apply(PERSON, &namespace).await?;
    hub.join(name, &spoke.kubeconfig(GRAPHS)?).await?;
    Ok(spoke)
}

/// Instances without end.
async fn flood(client: Client, made: &AtomicUsize) -> anyhow::Result<Infallible> {
    for round in 0_usize.. {
        let names: Vec<String> = (0..CLIENTS).map(|at| format!("flood-{}", round * CLIENTS + at)).collect();
        futures::future::try_join_all(names.iter().map(|name| chain::create(&client, name))).await?;
        made.fetch_add(CLIENTS, Ordering::Relaxed);
    }
    unreachable!("there is always another one")
}

impl Tenant {
    /// Creates at [`RATE`] a second. Returns the 99th percentile of create→ACTIVE, in milliseconds.
    async fn creates(
        &mut self,
        sizes: Sizes,
        part: &'static str,
        prefix: &'static str,
        report: &mut Report,
    ) -> anyhow::Result<f64> {
        let count = sizes.paced;
        let person = self.person.clone();
        let name = move |number: usize| format!("{prefix}-{number:05}");
        let create = move |number: usize| {
            let person = person.clone();
            async move { chain::create(&person, &name(number)).await }
        };
        let sent = load::paced(count, RATE, create).await?;
        let active = self.active(prefix, count).await?;
        let took = sent.iter().map(|one| {
            let at = active.get(&name(one.number)).context("an instance that nobody saw")?;
            Ok(at.saturating_duration_since(one.answered))
        });
        let took = Latencies::new(took.collect::<anyhow::Result<_>>()?)?;
        let p99 = took.percentile(99);
        if prefix != "warm" {
            report.note(part, "create→ACTIVE p50", took.percentile(50), "ms");
            report.note(part, "create→ACTIVE p99", p99, "ms");
        }
        Ok(p99)
    }

    /// When each of so many was ACTIVE first.
    async fn active(&mut self, prefix: &str, count: usize) -> anyhow::Result<HashMap<String, Instant>> {
        let mut active = HashMap::with_capacity(count);
        while active.len() < count {
            let Some(seen) = self.seen.next(PATIENCE).await? else {
                anyhow::bail!("{} of {count} are ACTIVE, and nothing more came for {PATIENCE:?}", active.len());
            };
            if seen.object.is_active() && seen.object.name().starts_with(prefix) {
                active.entry(seen.object.name().to_owned()).or_insert(seen.at);
            }
        }
        Ok(active)
    }
}
