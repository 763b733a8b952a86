//! Somebody who creates three objects a second, and how long each takes to get its copy.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use broker_api::example::Certificate;
use example_stage::Place;
use harness::{AuditEvents, Mark, wait_for};
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, timeout},
};

use crate::DEADLINE;

/// Time between two objects. With each, its provider makes a certificate and a Secret that comes back: ten a second were a sixth of
/// all that the tests compute.
const PACE: Duration = Duration::from_millis(300);
/// Label of all of them.
const LABEL: &str = "load";

/// The load, until [`Load::stop`].
pub(crate) struct Load {
    run: &'static str,
    /// How many there are so far. Nobody looks any more: it ends.
    created: watch::Receiver<usize>,
    task: JoinHandle<anyhow::Result<Vec<(String, Timestamp)>>>,
    mark: Mark,
}

/// What came of it.
pub(crate) struct Service {
    /// How many objects were created; each has one copy.
    pub(crate) objects: usize,
    /// The longest time from the request that creates an object until its copy is there.
    pub(crate) longest: Duration,
    /// The median of these.
    pub(crate) median: Duration,
}

impl Load {
    /// Begins to create objects in `homer`, of which `provider` is to have the copies. `run` is in their names.
    pub(crate) async fn start(homer: &Place, provider: &Place, run: &'static str) -> anyhow::Result<Self> {
        let mark = provider.cluster.audit().settle().await?;
        let (sender, created) = watch::channel(0);
        let task = tokio::spawn(create(homer.api(), run, sender));
        Ok(Self { run, created, task, mark })
    }

    /// Waits until so many more objects are there than now.
    pub(crate) async fn more(&mut self, count: usize) -> anyhow::Result<()> {
        let wanted = *self.created.borrow() + count;
        let reached = timeout(DEADLINE, self.created.wait_for(|created| *created >= wanted)).await;
        reached.context("the load has stopped to create objects")?.context("the load has ended").map(drop)
    }

    /// Ends it, waits until every object has its copy, and says how long that took. The objects go again.
    pub(crate) async fn stop(self, homer: &Place, provider: &Place) -> anyhow::Result<Service> {
        let Self { run, created, task, mark } = self;
        drop(created);
        let created = task.await??;
        let copies = wait_for(DEADLINE, "a copy of each object", async || {
            let copies = provider.copies::<Certificate>().await?;
            let names: Vec<_> = copies.iter().map(ResourceExt::name_any).collect();
            let lost: Vec<_> =
                created.iter().filter(|(name, _)| !names.iter().any(|copy| is_copy(copy, name))).collect();
            anyhow::ensure!(lost.is_empty(), "{} of {} have none: {lost:?}", lost.len(), created.len());
            Ok(copies)
        })
        .await?;
        let events = provider.cluster.audit().settled_since(mark).await?;
        let mut delays = delays(&created, &copies, &events)?;
        delays.sort();
        clear(homer, provider, run).await?;
        let longest = *delays.last().context("no object was created")?;
        Ok(Service { objects: delays.len(), longest, median: delays[delays.len() / 2] })
    }
}

async fn create(
    certificates: Api<Certificate>,
    run: &'static str,
    progress: watch::Sender<usize>,
) -> anyhow::Result<Vec<(String, Timestamp)>> {
    let mut created = Vec::new();
    let mut tick = tokio::time::interval(PACE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while progress.send(created.len()).is_ok() {
        tick.tick().await;
        let name = format!("{run}-{}", created.len());
        let object = serde_json::from_value(json!({
            "apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate",
            "metadata": { "name": name, "labels": { LABEL: run } },
            "spec": { "fqdn": format!("{name}.internal.corp") },
        }))?;
        let begun = Timestamp::now();
        certificates.create(&PostParams::default(), &object).await.context("the load cannot create objects")?;
        created.push((name, begun));
    }
    Ok(created)
}

/// `<12 hex>-<name>`
fn is_copy(copy: &str, name: &str) -> bool {
    copy.split_once('-').is_some_and(|(_, rest)| rest == name)
}

/// From the request of each object until the answer to the one that made its copy. All clocks are this machine's. Where the process
/// that made it ended before that answer, the log has none: then until the end of the second in which the copy was made.
fn delays(
    created: &[(String, Timestamp)],
    copies: &[Certificate],
    events: &AuditEvents,
) -> anyhow::Result<Vec<Duration>> {
    let mut made = BTreeMap::new();
    for event in events.on("certificates").only(|event| event.code == 201 && event.subresource.is_empty()) {
        let (_, name) = event.name.split_once('-').unwrap_or_default();
        made.entry(name.to_owned()).or_insert(event.timestamp);
    }
    let delay = |(name, begun): &(String, Timestamp)| {
        let stamped = || {
            let copy = copies.iter().find(|copy| is_copy(&copy.name_any(), name))?;
            Some(copy.metadata.creation_timestamp.as_ref()?.0 + Duration::from_secs(1))
        };
        let end = made.get(name).copied().or_else(stamped);
        let end = end.with_context(|| format!("nobody knows when the copy of {name} was made"))?;
        Ok(Duration::try_from(end.duration_since(*begun)).unwrap_or_default())
    };
    created.iter().map(delay).collect()
}

async fn clear(homer: &Place, provider: &Place, run: &str) -> anyhow::Result<()> {
    let ours = ListParams::default().labels(&format!("{LABEL}={run}"));
    homer.api::<Certificate>().delete_collection(&DeleteParams::default(), &ours).await?;
    homer.none::<Certificate>("of the load", |held| held.labels().get(LABEL).is_some_and(|held| held == run)).await?;
    provider.none::<Certificate>("of the load", |held| held.name_any().contains(&format!("-{run}-"))).await
}
