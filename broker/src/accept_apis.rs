//! The task that compiles AcceptAPIs as they change, and the one that writes their status.

use std::{collections::HashMap, sync::Arc, time::Duration};

use broker_api::{ClusterName, Role, condition, keys};
use broker_core::{acceptance::AcceptId, merge};
use broker_fleet::{
    cluster::Cluster,
    error::CallError,
    kind::KindState,
    object::{Object, ObjectKey},
    write::Writer,
};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    broker::{AcceptChange, Broker},
    observe,
    registry::{Entry, Registry},
};

/// How often statuses are looked at.
const TICK: Duration = Duration::from_millis(500);

/// How long one AcceptAPI's status rests after a write.
const REST: Duration = Duration::from_secs(3);

/// The same after many failures.
const LONGEST_REST: Duration = Duration::from_mins(5);

/// After so long counts are taken to be right, although the queue was never empty.
const LONG_ENOUGH: Duration = Duration::from_mins(1);

/// Compiles AcceptAPIs one after the other: their expressions come from providers and may be hostile.
pub async fn compile(broker: Arc<Broker>, mut changes: mpsc::UnboundedReceiver<AcceptChange>, stop: CancellationToken) {
    loop {
        let change = tokio::select! {
            () = stop.cancelled() => return,
            change = changes.recv() => change,
        };
        let Some(change) = change else { return };
        let worker = Arc::clone(&broker);
        // Compiling blocks until its thread answers.
        if tokio::task::spawn_blocking(move || worker.take_in(change)).await.is_err() {
            warn!("an AcceptAPI could not be taken in");
        }
    }
}

impl Broker {
    fn take_in(&self, change: AcceptChange) {
        let mut registry: Registry = (**self.registry.load()).clone();
        let mut rebalances = false;
        let (provider, concerned, all) = match change {
            AcceptChange::Changed(provider, key) => {
                let Some(index) =
                    self.fleet().cluster(&provider).and_then(|cluster| cluster.index(&self.watches.accept_apis))
                else {
                    return;
                };
                let id =
                    AcceptId { provider: provider.clone(), namespace: key.namespace.clone(), name: key.name.clone() };
                let object = index.get(&key).found();
                let policy = self.policies.of(&provider);
                let concerned = registry.update(&id, object.as_deref(), &self.evaluator, &policy);
                rebalances = registry.rebalances(&id);
                (provider, concerned, false)
            }
            AcceptChange::Complete(provider) => {
                registry.mark_known(&provider);
                (provider, Vec::new(), true)
            }
            AcceptChange::Left(provider) => {
                let concerned = registry.remove_provider(&provider);
                (provider, concerned, true)
            }
            AcceptChange::Bounded(provider) => {
                let concerned = registry.bound(&provider, &self.policies.of(&provider));
                let attracts = |gvr| registry.accepting(&provider, gvr).iter().any(|acceptance| acceptance.rebalance);
                rebalances = concerned.iter().any(attracts);
                (provider, concerned, false)
            }
        };
        self.registry.store(Arc::new(registry));
        if all {
            self.enqueue_concerned(&provider, None);
            // Until now it counted as settling, and what it holds of others' objects was left alone.
            self.enqueue_stranded(&provider, None);
        }
        for gvr in concerned {
            if let Some(brokered) = self.brokered_at(&provider, &gvr) {
                self.enqueue_concerned(&provider, Some(&brokered.kind));
                if rebalances {
                    // It may attract any of them.
                    for key in self.records.select(|key, _| *key.gvk == *brokered.kind) {
                        self.enqueue(key);
                    }
                }
            }
        }
    }

    /// The merge patch that brings an AcceptAPI's status up to date, if it is not.
    fn status_patch(&self, id: &AcceptId, entry: &Entry, held: &Object) -> Option<Value> {
        let value = held.value().ok()?;
        let (ready, reason, message) = self.verdict(id, entry);
        let status = if ready { "True" } else { "False" };
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let before = value["status"]["conditions"].as_array().into_iter().flatten();
        let before = before.into_iter().find(|entry| entry["type"] == condition::READY && entry["status"] == status);
        let since = before.and_then(|before| before["lastTransitionTime"].as_str().map(str::to_owned));
        let desired = json!({
            "conditions": [{
                "type": condition::READY,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": since.unwrap_or_else(|| observe::now().text),
            }],
            "placed": self.placed(id, entry.gvr.as_ref()),
            "observedGeneration": generation,
        });
        let nothing = json!({});
        let diff = merge::diff(value.get("status").unwrap_or(&nothing), &desired)?;
        Some(json!({
            "metadata": {"resourceVersion": held.resource_version.to_string(), "uid": &*held.uid},
            "status": diff,
        }))
    }

    async fn write_status(&self, cluster: &Cluster, key: &ObjectKey, patch: &Value) -> Result<(), CallError> {
        let spec = &self.watches.accept_apis;
        let (Some(connection), KindState::Found(kind)) = (cluster.connection(), cluster.kind(&spec.gvk)) else {
            return Ok(());
        };
        let written = Writer::new(&connection.caller, keys::MANAGER).merge(&kind, key, patch, true).await?;
        cluster.learn(spec, key.clone(), written.object);
        Ok(())
    }

    /// The Go broker's finalizer is not needed and would keep the AcceptAPI from going.
    async fn drop_finalizer(&self, cluster: &Cluster, key: &ObjectKey, held: &Object) -> Result<(), CallError> {
        let Some(value) = held.value().ok().filter(|_| held.has_finalizers) else { return Ok(()) };
        let all = value["metadata"]["finalizers"].as_array().into_iter().flatten();
        let all: Vec<&str> = all.filter_map(Value::as_str).collect();
        if !all.contains(&keys::ACCEPTAPI_FINALIZER) {
            return Ok(());
        }
        let kept: Vec<&str> = all.into_iter().filter(|finalizer| *finalizer != keys::ACCEPTAPI_FINALIZER).collect();
        let patch = json!({"metadata": {"resourceVersion": held.resource_version.to_string(), "finalizers": kept}});
        let spec = &self.watches.accept_apis;
        let (Some(connection), KindState::Found(kind)) = (cluster.connection(), cluster.kind(&spec.gvk)) else {
            return Ok(());
        };
        let written = Writer::new(&connection.caller, keys::MANAGER).merge(&kind, key, &patch, false).await?;
        cluster.learn(spec, key.clone(), written.object);
        Ok(())
    }

    /// Brings one AcceptAPI's status up to date. Returns whether anything was written.
    async fn update_status(&self, cluster: &Cluster, id: &AcceptId, entry: &Entry) -> Result<bool, CallError> {
        let key = ObjectKey { namespace: Arc::clone(&id.namespace), name: Arc::clone(&id.name) };
        let find = || cluster.index(&self.watches.accept_apis).and_then(|index| index.get(&key).found());
        let Some(held) = find() else { return Ok(false) };
        self.drop_finalizer(cluster, &key, &held).await?;
        // The answer to that may be a newer version, or that it is gone.
        let Some(held) = find() else { return Ok(false) };
        let Some(patch) = self.status_patch(id, entry, &held).filter(|_| !held.deleting) else { return Ok(false) };
        self.write_status(cluster, &key, &patch).await?;
        Ok(true)
    }

    /// Whether all that was there at the start has been looked at: only then do counts say anything.
    fn look_synced(&self) -> bool {
        if self.is_synced() {
            return true;
        }
        let settled = self.fleet().clusters().iter().all(|cluster| {
            !cluster.is_ready() && cluster.age() > Duration::from_secs(5)
                || cluster.is_ready()
                    && cluster.indexes().iter().all(|index| {
                        index.is_complete()
                            || index.trouble().is_some()
                            || cluster.kind(&index.spec().gvk) == KindState::Missing
                    })
        });
        let idle = self.queue.is_idle() || self.started.elapsed() > LONG_ENOUGH;
        if settled && self.ring.load().is_some() && idle {
            info!(after = ?self.started.elapsed(), "in step with all clusters");
            self.set_synced();
        }
        self.is_synced()
    }
}

/// When an AcceptAPI is looked at again, and how often in a row that has failed.
type Rests = HashMap<AcceptId, (Instant, u32)>;

/// Keeps the statuses of AcceptAPIs up to date: at most every few seconds each, and only when they changed.
pub async fn report(broker: Arc<Broker>, stop: CancellationToken) {
    let mut rests: HashMap<ClusterName, Rests> = HashMap::new();
    let mut swept = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        if !broker.look_synced() || !broker.leads() {
            continue;
        }
        if !swept {
            swept = true;
            broker.sweep_namespaces().await;
        }
        let ready = broker.fleet().in_role(Role::Provider).into_iter().filter(|cluster| cluster.is_ready());
        // Each provider by itself: a slow one delays only its own.
        let rounds = ready.map(|cluster| {
            let held = rests.remove(cluster.name()).unwrap_or_default();
            let broker = Arc::clone(&broker);
            async move { (cluster.name().clone(), broker.report_provider(&cluster, held).await) }
        });
        rests = join_all(rounds).await.into_iter().collect();
    }
}

impl Broker {
    async fn report_provider(&self, cluster: &Cluster, mut rests: Rests) -> Rests {
        let registry = self.registry.load_full();
        let due = |id: &AcceptId, rests: &Rests| rests.get(id).is_none_or(|(until, _)| *until <= Instant::now());
        for (id, entry) in registry.entries().filter(|(id, _)| id.provider == *cluster.name()) {
            if !due(id, &rests) {
                continue;
            }
            let failures = rests.get(id).map_or(0, |(_, failures)| *failures);
            match self.update_status(cluster, id, entry).await {
                Ok(false) => {
                    rests.remove(id);
                }
                Ok(true) => {
                    rests.insert(id.clone(), (Instant::now() + REST, 0));
                }
                Err(error) => {
                    if failures == 0 {
                        warn!(acceptapi = %id, %error, "the AcceptAPI's status cannot be written");
                    }
                    let wait = broker_fleet::backoff::delay(REST, LONGEST_REST, failures);
                    rests.insert(id.clone(), (Instant::now() + wait, failures + 1));
                    if error.suspects_cluster() {
                        break;
                    }
                }
            }
        }
        rests
    }
}
