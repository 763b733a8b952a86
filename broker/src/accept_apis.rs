//! The task that writes the status of AcceptAPIs.

use std::{collections::HashMap, sync::Arc, time::Duration};

use broker_api::{ClusterName, Role, condition, keys};
use broker_core::acceptance::AcceptId;
use runtime_effect::merge;
use runtime_fleet::{
    cluster::Cluster,
    error::CallError,
    kind::KindState,
    object::{Object, ObjectKey},
    write::Writer,
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    broker::Broker,
    observe,
    registry::{Entry, object_key},
};

/// How often statuses are looked at.
const TICK: Duration = Duration::from_millis(500);

/// How long one AcceptAPI's status rests after a write.
const REST: Duration = Duration::from_secs(3);

/// The same after many failures.
const LONGEST_REST: Duration = Duration::from_mins(5);

/// After so long counts are taken to be right, although the queue was never empty.
const LONG_ENOUGH: Duration = Duration::from_mins(1);

impl Broker {
    /// The merge patch that brings an AcceptAPI's status up to date, if it is not.
    fn status_patch(&self, id: &AcceptId, entry: &Entry, held: &Object) -> Option<Value> {
        let value = held.value().ok()?;
        let (ready, reason, message) = self.verdict(id, entry);
        let status = if ready { "True" } else { "False" };
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let condition = |kind: &str, status: &str, reason: &str, message: &str| {
            let mut before = value["status"]["conditions"].as_array().into_iter().flatten();
            let before = before.find(|entry| entry["type"] == kind && entry["status"] == status);
            let since = before.and_then(|before| before["lastTransitionTime"].as_str().map(str::to_owned));
            json!({
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": since.unwrap_or_else(|| observe::now().text),
            })
        };
        let mut conditions = vec![condition(condition::READY, status, reason, &message)];
        let brokered = entry.gvr.as_ref().and_then(|gvr| self.brokered_at(&id.provider, gvr));
        if let Some(held) = brokered.and_then(|brokered| self.brake.told(&id.provider, &brokered.kind)) {
            conditions.push(condition(condition::DELETIONS_HELD, "True", condition::ORIGINS_VANISHED, &held));
        }
        let desired = json!({
            "conditions": conditions,
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
        let written = Writer::new(&connection.caller).merge(&kind, key, patch, true).await?;
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
        let written = Writer::new(&connection.caller).merge(&kind, key, &patch, false).await?;
        cluster.learn(spec, key.clone(), written.object);
        Ok(())
    }

    /// Brings one AcceptAPI's status up to date. Returns whether anything was written.
    async fn update_status(&self, cluster: &Cluster, id: &AcceptId, entry: &Entry) -> Result<bool, CallError> {
        let key = object_key(id);
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
        let clusters = self.fleet().clusters();
        let settled = !clusters.iter().any(|cluster| cluster.is_coming());
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

/// Keeps the statuses of AcceptAPIs up to date: at most every few seconds each, and only when they changed. Each provider
/// by itself: one that does not answer delays only its own.
pub async fn report(broker: Arc<Broker>, stop: CancellationToken) {
    let mut rounds: HashMap<ClusterName, JoinHandle<Rests>> = HashMap::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        if !broker.look_synced() || !broker.leads() {
            continue;
        }
        let providers = broker.fleet().in_role(Role::Provider);
        rounds.retain(|name, _| providers.iter().any(|cluster| cluster.name() == name));
        for cluster in providers.into_iter().filter(|cluster| cluster.is_ready()) {
            let before = match rounds.remove(cluster.name()) {
                Some(round) if !round.is_finished() => {
                    rounds.insert(cluster.name().clone(), round);
                    continue;
                }
                Some(round) => round.await.unwrap_or_default(),
                None => {
                    broker.sweep_namespaces(cluster.name());
                    Rests::new()
                }
            };
            let (broker, name) = (Arc::clone(&broker), cluster.name().clone());
            rounds.insert(name, tokio::spawn(async move { broker.report_provider(&cluster, before).await }));
        }
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
                    let wait = runtime_fleet::backoff::delay(REST, LONGEST_REST, failures);
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
