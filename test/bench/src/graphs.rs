//! What resource-graphs costs: one API server, one process, RGDs and their instances.
//!
//! Throughput is judged beside what plain clients reach with the same writes on the same API server, on a kind and objects of
//! the same shape that resource-graphs does not watch. Create→`ACTIVE` is from the answer to the create until the event of the
//! instance that says so was read here.

mod burst;
pub(crate) mod chain;
pub(crate) mod controller;
mod definitions;
mod many;
mod single;
mod still;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use harness::{AuditEvents, Cluster, ClusterOptions, Lab, LabOptions, Mark, wait_for};
use kube::Client;
use serde_json::Value;

use self::chain::{Definition, Instance, KIND, NAMESPACE};
use self::controller::Controller;
use crate::load::{self, Request};
use crate::options::{Options, Part, Sizes};
use crate::report::{Report, ratio};
use crate::stage::{PERSON, Requests};
use crate::watch::{Kind, Watches};

/// The user that resource-graphs is.
const GRAPHS: &str = "graphs";
const CRDS: [&str; 2] = [
    include_str!("../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml"),
    include_str!("../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml"),
];
const DEADLINE: Duration = Duration::from_mins(5);
const PATIENCE: Duration = Duration::from_mins(1);
/// How long resource-graphs must ask for nothing until it counts as quiet.
const SETTLED: Duration = Duration::from_secs(1);
/// How often a process that starts is looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// Clients at once.
const CLIENTS: usize = 16;
/// Instances that come before everything that is measured.
const WARM_UP: usize = 50;

/// What the parts share.
pub(crate) struct Graphs {
    lab: Lab,
    cluster: Cluster,
    /// The person who makes instances.
    person: Client,
    controller: Controller,
    instances: Watches<Instance>,
    sizes: Sizes,
    /// Instances there are.
    count: usize,
    report: Report,
}

impl Graphs {
    /// Starts an API server, resource-graphs and the first RGD.
    pub(crate) async fn start(sizes: Sizes, report: Report) -> anyhow::Result<Self> {
        say("starting an API server and resource-graphs");
        let lab = Lab::start(LabOptions::default()).await?;
        let users = vec![(GRAPHS.to_owned(), vec!["system:masters".to_owned()])];
        let cluster = lab.cluster_with("graphs", &ClusterOptions { users, ..ClusterOptions::default() }).await?;
        let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}");
        cluster.apply(PERSON, &[CRDS[0], CRDS[1], &namespace].join("\n---\n")).await?;
        let kubeconfig = lab.directory().join("graphs.kubeconfig");
        cluster.write_kubeconfig(GRAPHS, &kubeconfig)?;
        let person = cluster.client(PERSON).await?;
        let controller = Controller::start(&lab, &kubeconfig).await?;
        let mut definitions = Watches::<Definition>::begin(&[&person], &[Kind::Modified]).await?;
        chain::define(&person, KIND).await?;
        let (name, active) = (|one: &Definition| one.name().to_owned(), Definition::is_active);
        collect(&mut definitions, 1, name, active).await?;
        let instances = Watches::begin(&[&person], &[Kind::Modified, Kind::Deleted]).await?;
        let graphs = Self { lab, cluster, person, controller, instances, sizes, count: 0, report };
        graphs.quiet().await?;
        Ok(graphs)
    }

    /// Measures what is wanted of instances.
    pub(crate) async fn run_instances(mut self) -> anyhow::Result<Report> {
        self.fill("warm", WARM_UP).await?;
        self.quiet().await?;
        burst::measure(&mut self).await?;
        single::measure(&mut self).await?;
        many::measure(&mut self).await?;
        still::measure(&mut self).await?;
        self.controller.stop().await?;
        Ok(self.report)
    }

    /// Measures what is wanted of many RGDs.
    pub(crate) async fn run_definitions(mut self) -> anyhow::Result<Report> {
        definitions::measure(&mut self).await?;
        self.controller.stop().await?;
        Ok(self.report)
    }

    /// Creates instances at full speed, and waits until all are active; says when each was.
    async fn fill(
        &mut self,
        prefix: &'static str,
        count: usize,
    ) -> anyhow::Result<(Vec<Request>, HashMap<String, Instant>)> {
        let person = self.person.clone();
        let create = move |number: usize| {
            let person = person.clone();
            async move { chain::create(&person, &name(prefix, number)).await }
        };
        let load = tokio::spawn(load::at_full_speed(count, CLIENTS, create));
        let of_prefix = |one: &Instance| one.is_active() && one.name().starts_with(prefix);
        let seen = collect(&mut self.instances, count, |one: &Instance| one.name().to_owned(), of_prefix).await;
        let sent = load.await??;
        self.count += count;
        Ok((sent, seen?))
    }

    /// The end of the audit log.
    async fn mark(&self) -> anyhow::Result<Mark> {
        self.cluster.audit().settle().await
    }

    /// What resource-graphs has asked for since.
    async fn requests(&self, since: Mark) -> anyhow::Result<Vec<Requests>> {
        let events = self.events(since).await?;
        Ok(vec![Requests { role: "server", cluster: self.cluster.name().to_owned(), events }])
    }

    async fn events(&self, since: Mark) -> anyhow::Result<AuditEvents> {
        Ok(self.cluster.audit().settled_since(since).await?.of(GRAPHS))
    }

    /// Waits until resource-graphs has asked for nothing for a while.
    async fn quiet(&self) -> anyhow::Result<()> {
        wait_for(DEADLINE, "resource-graphs to be quiet", async || {
            let mark = self.mark().await?;
            tokio::time::sleep(SETTLED).await;
            let count = self.events(mark).await?.len();
            anyhow::ensure!(count == 0, "{count} requests within {SETTLED:?}");
            Ok(())
        })
        .await
    }

    /// Starts resource-graphs anew. Returns the seconds from its start until it was ready, all instances were looked at and its
    /// last request was answered: the latest of these, once nothing else has come for a while.
    async fn restart(&mut self) -> anyhow::Result<f64> {
        let mark = self.mark().await?;
        let instances = ratio(self.count, 1);
        self.controller.restart(&self.lab).await?;
        let started = self.controller.started;
        let started_at = k8s_openapi::jiff::Timestamp::now();
        let mut at_rest: Option<Instant> = None;
        while started.elapsed() < DEADLINE {
            let rests = self.controller.rests_with(instances).await?;
            match (rests, at_rest) {
                (false, _) => at_rest = None,
                (true, None) => at_rest = Some(Instant::now()),
                (true, Some(from)) if from.elapsed() > SETTLED => {
                    let last = self.events(mark).await?.iter().map(|event| event.timestamp).max();
                    let last = last.map_or(Duration::ZERO, |last| {
                        Duration::try_from(last.duration_since(started_at)).unwrap_or_default()
                    });
                    if started.elapsed() > last + SETTLED {
                        return Ok(last.max(from - started).as_secs_f64());
                    }
                }
                (true, Some(_)) => {}
            }
            tokio::time::sleep(GLANCE).await;
        }
        anyhow::bail!("resource-graphs was not quiet within {DEADLINE:?} of its start")
    }

    /// Reads an object.
    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.person.request(http::Request::get(path).body(Vec::new())?).await?)
    }
}

/// When each of the first `count` that `wanted` says yes to was seen, by what `name` calls it.
async fn collect<T: crate::watch::Watched>(
    watches: &mut Watches<T>,
    count: usize,
    name: impl Fn(&T) -> String,
    wanted: impl Fn(&T) -> bool,
) -> anyhow::Result<HashMap<String, Instant>> {
    let mut seen = HashMap::with_capacity(count);
    while seen.len() < count {
        let Some(one) = watches.next(PATIENCE).await? else {
            anyhow::bail!("{} of {count} were seen, and nothing more for {PATIENCE:?}", seen.len());
        };
        if one.kind != Kind::Deleted && wanted(&one.object) {
            seen.entry(name(&one.object)).or_insert(one.at);
        }
    }
    Ok(seen)
}

/// Measures the parts that are wanted.
pub(crate) async fn run(options: &Options, mut report: Report) -> anyhow::Result<Report> {
    if options.wants(Part::Graphs) {
        let graphs = Box::pin(Graphs::start(options.sizes(), report)).await?;
        report = Box::pin(graphs.run_instances()).await?;
    }
    if options.wants(Part::Definitions) {
        let graphs = Box::pin(Graphs::start(options.sizes(), report)).await?;
        report = Box::pin(graphs.run_definitions()).await?;
    }
    Ok(report)
}

/// Name of one of the instances of a part.
fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}-{number:05}")
}

/// Tells the person who waits.
fn say(what: &str) {
    eprintln!("bench: {what}");
}
