//! What it costs to bring RGDs to clusters: many that only look like API servers, and a real one.

mod neighbours;
mod spoke;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::body::Bytes;
use broker_api::ClusterName;
use graphs_core::rollout::{Mark, Member, Reach, Settings, Snapshot, Spoke, decide};
use harness::{Cluster, ClusterOptions, Lab, LabOptions, wait_for};
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use serde_json::{Value, json};

use self::spoke::{Manner, Spokes};
use crate::graphs::chain;
use crate::graphs::controller::Controller;
use crate::load;
use crate::options::Sizes;
use crate::report::{Goal, Report, ratio};
use crate::stage::PERSON;
use crate::usage::CpuTime;

const PART: &str = "distributor: one RGD onto many spokes";
const IDLE: &str = "distributor: idle spokes";
const ONBOARD: &str = "distributor: many RGDs onto a new spoke";
const DECISION: &str = "distributor: one decision about a rollout";

/// The user that resource-graphs is.
const GRAPHS: &str = "graphs";
const SECRETS: &str = "clusters";
const CRDS: [&str; 3] = [
    include_str!("../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml"),
    include_str!("../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml"),
    include_str!("../../../config/crd-graphs/broker.platform-mesh.io_resourcegraphrollouts.yaml"),
];
const DEADLINE: Duration = Duration::from_mins(2);
/// How long nothing must be asked until all counts as quiet.
const SETTLED: Duration = Duration::from_secs(2);
const CLIENTS: usize = 8;
/// What is asked of each spoke about kinds that every cluster has, answered as a real one does.
const DOCUMENTS: [&str; 4] =
    ["/api/v1", "/apis/apiextensions.k8s.io/v1", "/openapi/v3/api/v1", "/openapi/v3/apis/apiextensions.k8s.io/v1"];
/// RGDs by which memory is told.
const MORE: usize = 5;
/// Clusters of a decision, how often it is made, and what it may take, in milliseconds.
const CLUSTERS: usize = 1_000;
const TIMES: u32 = 100;
const DECIDES: f64 = 5.0;

/// A hub with resource-graphs.
struct Hub {
    lab: Lab,
    cluster: Cluster,
    person: Client,
    controller: Controller,
}

/// Measures all of it.
pub(crate) async fn run(sizes: Sizes, mut report: Report) -> anyhow::Result<Report> {
    decision(&mut report);
    many(sizes, &mut report).await?;
    onboard(sizes, &mut report).await?;
    neighbours::measure(sizes, &mut report).await?;
    Ok(report)
}

impl Hub {
    async fn start() -> anyhow::Result<Self> {
        let lab = Lab::start(LabOptions::default()).await?;
        let cluster = lab.cluster_with("hub", &options()).await?;
        let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {SECRETS}}}}}");
        cluster.apply(PERSON, &[CRDS[0], CRDS[1], CRDS[2], &namespace].join("\n---\n")).await?;
        let kubeconfig = lab.directory().join("hub.kubeconfig");
        cluster.write_kubeconfig(GRAPHS, &kubeconfig)?;
        let person = cluster.client(PERSON).await?;
        let args = ["--enable-multicluster", "--cluster-secrets-namespace", SECRETS];
        let controller = Controller::start_with(&lab, &kubeconfig, &args).await?;
        Ok(Self { lab, cluster, person, controller })
    }

    /// What spokes answer that are none.
    async fn documents(&self) -> anyhow::Result<Arc<BTreeMap<String, Bytes>>> {
        let mut documents = BTreeMap::new();
        for path in DOCUMENTS {
            let request = http::Request::get(path).header(ACCEPT, "application/json").body(Vec::new())?;
            let document = self.person.request_text(request).await.with_context(|| format!("cannot record {path}"))?;
            documents.insert(path.to_owned(), Bytes::from(document));
        }
        Ok(Arc::new(documents))
    }

    /// Makes a spoke of a kubeconfig.
    async fn join(&self, name: &str, kubeconfig: &str) -> anyhow::Result<()> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {"broker.platform-mesh.io/role": "spoke"}},
            "stringData": {"kubeconfig": kubeconfig},
        });
        let request = http::Request::post(format!("/api/v1/namespaces/{SECRETS}/secrets"))
            .header(CONTENT_TYPE, "application/json")
            .body(secret.to_string().into_bytes())?;
        self.person.request_text(request).await?;
        Ok(())
    }

    /// Ends what [`Hub::join`] began.
    async fn leave(&self, name: &str) -> anyhow::Result<()> {
        let path = format!("/api/v1/namespaces/{SECRETS}/secrets/{name}");
        self.person.request_text(http::Request::delete(path).body(Vec::new())?).await?;
        Ok(())
    }

    /// Applies an RGD, and waits until it says that all clusters run it.
    async fn distribute(&self, kind: &str, clusters: usize) -> anyhow::Result<Duration> {
        let began = Instant::now();
        chain::define(&self.person, kind).await?;
        self.distributed(kind, clusters).await?;
        Ok(began.elapsed())
    }

    async fn distributed(&self, kind: &str, clusters: usize) -> anyhow::Result<()> {
        let path = format!("/apis/kro.run/v1alpha1/resourcegraphdefinitions/{}", kind.to_lowercase());
        let words = format!("{clusters}/{clusters} clusters");
        wait_for(DEADLINE, "the RGD to be in all clusters", async || {
            let rgd: Value = self.person.request(http::Request::get(&path).body(Vec::new())?).await?;
            let conditions = rgd["status"]["conditions"].as_array().into_iter().flatten();
            let said =
                conditions.filter(|entry| entry["type"] == "Distributed").find_map(|entry| entry["message"].as_str());
            anyhow::ensure!(said.is_some_and(|said| said.starts_with(&words)), "{said:?}");
            Ok(())
        })
        .await
    }

    /// Waits until so many spokes are reached.
    async fn reached(&self, count: usize) -> anyhow::Result<()> {
        wait_for(DEADLINE, "all spokes to be reached", async || {
            let up = self.controller.metric("kro_cluster_up").await?;
            anyhow::ensure!(up > ratio(count, 1) - 0.5, "{up} of {count}");
            Ok(())
        })
        .await
    }

    /// Requests to the hub since then.
    async fn requests(&self, mark: harness::Mark) -> anyhow::Result<usize> {
        Ok(self.cluster.audit().settled_since(mark).await?.of(GRAPHS).len())
    }

    /// Waits until neither the hub nor a spoke has been asked for anything for a while.
    async fn quiet(&self, spokes: Option<&Spokes>) -> anyhow::Result<()> {
        wait_for(DEADLINE, "resource-graphs to be quiet", async || {
            let (mark, before) = (self.cluster.audit().settle().await?, spokes.map(Spokes::counts));
            tokio::time::sleep(SETTLED).await;
            let asked = self.requests(mark).await?;
            anyhow::ensure!(
                asked == 0 && spokes.map(Spokes::counts) == before,
                "{asked} requests to the hub, or others"
            );
            Ok(())
        })
        .await
    }
}

fn options() -> ClusterOptions {
    ClusterOptions { users: vec![(GRAPHS.to_owned(), vec!["system:masters".to_owned()])], ..ClusterOptions::default() }
}

async fn many(sizes: Sizes, report: &mut Report) -> anyhow::Result<()> {
    let count = sizes.spokes;
    say(&format!("{count} spokes"));
    let hub = Hub::start().await?;
    let documents = hub.documents().await?;
    let spokes = Spokes::start(count, Manner::Orderly, documents).await?;
    hub.quiet(None).await?;
    let (before, cpu, began) = (hub.controller.resident_kib()?, hub.controller.cpu()?, Instant::now());
    let (hub_of, kubeconfigs) = (&hub, &spokes.kubeconfigs);
    let join = |number: usize| async move {
        let kubeconfig = kubeconfigs.get(number).context("no such spoke")?;
        hub_of.join(&format!("spoke-{number:04}"), kubeconfig).await
    };
    futures::future::try_join_all((0..count).map(join)).await?;
    hub.reached(count).await?;
    let reached = began.elapsed();
    hub.quiet(Some(&spokes)).await?;
    let per_spoke = |value: f64| value * ratio(1, count);
    report.note(IDLE, "spokes", ratio(count, 1), "");
    report.note(IDLE, "until all are reached", reached.as_secs_f64(), "s");
    report.note(IDLE, "CPU of resource-graphs per spoke", per_spoke(hub.controller.cpu()? - cpu), "ms");
    let resident = per_spoke(hub.controller.resident_kib()? - before);
    report.judge(IDLE, "resident per spoke", resident, "KiB", Goal::AtMost(150.0));
    report.note(IDLE, "requests per spoke", per_spoke(ratio(spokes.counts().all(), 1)), "");
    idle(&hub, &spokes, sizes.idle, IDLE, report).await?;

    say("one RGD onto all of them");
    // The first brings the kinds that it is made of.
    let first = hub.distribute("First", count).await;
    let first = first.with_context(|| format!("all that the spokes were asked: {:#?}", spokes.kinds()))?;
    report.note(PART, "the first RGD", first.as_secs_f64(), "s");
    hub.quiet(Some(&spokes)).await?;
    let (asked, before, cpu) = (spokes.counts(), hub.controller.resident_kib()?, hub.controller.cpu()?);
    let (kinds, all, began) = (spokes.kinds(), CpuTime::now()?, Instant::now());
    let took = hub.distribute("Second", count).await?;
    report.noise(&(CpuTime::now()? - &all), began, PART);
    hub.quiet(Some(&spokes)).await?;
    anyhow::ensure!(spokes.with_crds(2) == count, "some spokes have no CRD");
    let asked = spokes.counts().since(asked);
    report.judge(PART, "the second, until all run it", took.as_secs_f64(), "s", Goal::AtMost(30.0));
    report.judge(PART, "writes per spoke", per_spoke(ratio(asked.writes, 1)), "", Goal::AtMost(2.0));
    report.judge(PART, "reads per spoke", per_spoke(ratio(asked.reads, 1)), "", Goal::AtMost(3.0));
    report.note(PART, "watches per spoke", per_spoke(ratio(asked.watches, 1)), "");
    report.note(PART, "CPU of resource-graphs per spoke", per_spoke(hub.controller.cpu()? - cpu), "ms");
    let mut more = spokes.kinds();
    for (what, before) in kinds {
        more.entry(what).and_modify(|count| *count -= before);
    }
    more.retain(|_, count| *count > 0);
    report.requests(PART, more, count);
    for number in 0..MORE {
        hub.distribute(&format!("More{number}"), count).await?;
    }
    hub.quiet(Some(&spokes)).await?;
    let each = per_spoke(hub.controller.resident_kib()? - before) * ratio(1, MORE + 1);
    report.judge(PART, "resident per RGD and spoke", each, "KiB", Goal::AtMost(20.0));
    idle(&hub, &spokes, sizes.idle, PART, report).await?;
    let mut hub = hub;
    hub.controller.stop().await
}

async fn idle(
    hub: &Hub,
    spokes: &Spokes,
    span: Duration,
    part: &'static str,
    report: &mut Report,
) -> anyhow::Result<()> {
    say(&format!("{} s of nothing", span.as_secs()));
    let (mark, before, cpu) = (hub.cluster.audit().settle().await?, spokes.counts(), hub.controller.cpu()?);
    tokio::time::sleep(span).await;
    let asked = hub.requests(mark).await? + spokes.counts().since(before).all();
    report.judge(part, format!("requests in {} s", span.as_secs()), ratio(asked, 1), "", Goal::Exactly(0.0));
    report.note(part, "CPU while nothing happens", (hub.controller.cpu()? - cpu) / span.as_secs_f64(), "ms/s");
    Ok(())
}

async fn onboard(sizes: Sizes, report: &mut Report) -> anyhow::Result<()> {
    let count = sizes.onboarded;
    say(&format!("{count} RGDs onto a new spoke, a real API server"));
    let hub = Hub::start().await?;
    let spoke = hub.lab.cluster_with("paris", &options()).await?;
    let kind = |number: usize| format!("Onboard{number:03}");
    let person = hub.person.clone();
    let define = move |number: usize| {
        let person = person.clone();
        async move { chain::define(&person, &kind(number)).await }
    };
    load::at_full_speed(count, CLIENTS, define).await?;
    hub.quiet(None).await?;
    let (all, began) = (CpuTime::now()?, Instant::now());
    hub.join("paris", &spoke.kubeconfig(GRAPHS)?).await?;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=kro.run/owned";
    let there = spoke.client(PERSON).await?;
    wait_for(DEADLINE, "all CRDs to be in the spoke", async || {
        let list: Value = there.request(http::Request::get(path).body(Vec::new())?).await?;
        let held = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_served = |crd: &&Value| {
            let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|entry| entry["type"] == "Established" && entry["status"] == "True")
        };
        let served = held.iter().filter(is_served).count();
        anyhow::ensure!(served == count, "{served} of {count}");
        Ok(())
    })
    .await?;
    let took = began.elapsed();
    report.noise(&(CpuTime::now()? - &all), began, ONBOARD);
    report.judge(ONBOARD, format!("until it serves {count}"), took.as_secs_f64(), "s", Goal::AtMost(10.0));
    for number in 0..count {
        hub.distributed(&kind(number), 1).await?;
    }
    report.note(ONBOARD, "until all RGDs say so", began.elapsed().as_secs_f64(), "s");
    let mut hub = hub;
    hub.controller.stop().await
}

/// Which revision each of many clusters gets: no I/O.
fn decision(report: &mut Report) {
    let member = |number: usize| Member {
        cluster: ClusterName::spoke(format!("spoke-{number:04}")),
        labels: BTreeMap::from([("ring".to_owned(), format!("{}", number % 4))]),
        reach: Reach::Reached(Spoke {
            mark: Some(Mark { revision: if number.is_multiple_of(3) { 2 } else { 1 }, done: true, ..Mark::default() }),
            settled: true,
            ..Spoke::default()
        }),
    };
    let members: Vec<Member> = (0..CLUSTERS).map(member).collect();
    let wave = |ring: usize| json!({"name": ring.to_string(), "clusterSelector": {"matchLabels": {"ring": ring.to_string()}}, "maxUnavailable": "25%"});
    let spec = json!({"waves": (0..4).map(wave).collect::<Vec<_>>()});
    let settings =
        serde_json::from_value(spec).ok().and_then(|spec| Settings::of(Some(&spec)).ok()).unwrap_or_default();
    let began = Instant::now();
    for now in 0..u64::from(TIMES) {
        let snapshot = Snapshot {
            settings: &settings,
            ends: false,
            newest: Some(2),
            given_up: None,
            completed: None,
            members: &members,
            now,
        };
        black_box(decide(black_box(&snapshot)));
    }
    let mean = began.elapsed().as_secs_f64() * 1_000.0 / f64::from(TIMES);
    report.judge(DECISION, format!("{CLUSTERS} clusters"), mean, "ms", Goal::AtMost(DECIDES));
}

fn say(what: &str) {
    eprintln!("bench: {what}");
}
