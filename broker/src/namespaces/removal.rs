//! The removal of empty namespaces: when one is looked at, what is asked of its provider, and the deletion.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{ClusterName, keys};
use runtime_engine::namespace;
use runtime_fleet::{
    call::Caller, cluster::Cluster, crash::spawn, error::CallError, hashed::HashSet, index::Index, kind::KindState,
    object::ObjectKey, write::Writer,
};
use tokio::time::Instant;
use tracing::{debug, info};

use super::{
    Found, Visits,
    contents::{Asker, Bucket},
    lock,
};
use crate::broker::Broker;

impl Broker {
    /// This namespace of a provider is made for a copy, which may not come to be.
    pub(crate) fn namespace_made(&self, provider: &ClusterName, namespace: &Arc<str>) {
        let visits = self.visits(provider);
        lock(&visits.state).made(namespace);
        visits.wake.notify_one();
    }

    /// A copy has gone from this namespace of a provider.
    pub(crate) fn copy_gone(&self, provider: &ClusterName, namespace: &Arc<str>) {
        let Some(cluster) = self.fleet().cluster(provider).filter(|_| self.leads()) else { return };
        let used = self.is_used(&cluster, namespace) == Some(true);
        let visits = self.visits(provider);
        lock(&visits.state).gone(namespace, used);
        visits.wake.notify_one();
    }

    /// Namespaces that an earlier leader made and did not come to remove are looked at, once while the provider is engaged and
    /// this process leads.
    pub(crate) fn sweep_namespaces(&self, provider: &ClusterName) {
        if !lock(&self.namespaces.swept).insert(provider.clone()) {
            return;
        }
        let visits = self.visits(provider);
        lock(&visits.state).sweep();
        visits.wake.notify_one();
    }

    /// What waits at a provider; the first time, somebody who looks after it.
    fn visits(&self, provider: &ClusterName) -> Arc<Visits> {
        let mut visits = lock(&self.namespaces.visits);
        let visits = visits.entry(provider.clone()).or_insert_with(|| {
            let visits = Arc::<Visits>::default();
            spawn(look_after(self.itself(), provider.clone(), Arc::clone(&visits)));
            visits
        });
        Arc::clone(visits)
    }

    /// Whether copies are in a namespace of a provider. `None`: nobody can tell yet.
    fn is_used(&self, cluster: &Cluster, namespace: &str) -> Option<bool> {
        // A kind that the provider does not serve has no objects there; its index is never complete.
        let counts = |index: &Index| {
            self.watches.brokered_by(index.spec()).is_some() && cluster.kind(&index.spec().gvk) != KindState::Missing
        };
        let indexes = cluster.indexes();
        let mut indexes = indexes.iter().filter(|index| counts(index));
        if indexes.clone().any(|index| index.has_any_in(namespace)) {
            return Some(true);
        }
        indexes.all(|index| index.is_complete()).then_some(false)
    }

    /// Those of these namespaces for which an origin is assigned to the provider, or on its way there.
    fn expected(&self, provider: &ClusterName, namespaces: &[Arc<str>]) -> HashSet<Arc<str>> {
        let expected = |namespace: &&Arc<str>| self.origins.records.is_expected(provider, namespace);
        namespaces.iter().filter(expected).cloned().collect()
    }

    /// Removes those of these namespaces that the broker made and in which nothing is. An error means that nobody can tell:
    /// they stay.
    async fn remove_empty(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        bucket: &mut Bucket,
        visits: &Visits,
        round: Vec<Arc<str>>,
    ) -> Result<Found, CallError> {
        let expected = self.expected(cluster.name(), &round);
        let mut looked = Found::default();
        let kind = namespace::kind();
        let writer = Writer::new(caller);
        let mut ours = BTreeMap::new();
        for namespace in round {
            match self.is_used(cluster, &namespace) {
                // When its last copy goes, it is looked at again.
                Some(true) => continue,
                Some(false) if !expected.contains(&namespace) => {}
                _ => {
                    looked.busy.insert(namespace);
                    continue;
                }
            }
            bucket.turn().await;
            let Some(found) = writer.get(&kind, &ObjectKey::new("", Arc::clone(&namespace))).await? else {
                looked.absent.insert(namespace);
                continue;
            };
            let made = found.marks().labels.get(keys::MANAGED_BY).is_some_and(|manager| manager == keys::MANAGER);
            if made && !found.deleting {
                ours.insert(namespace, found);
            }
        }
        if ours.is_empty() {
            return Ok(looked);
        }
        let empty = Asker { caller, bucket }.empty(ours.keys().cloned().collect()).await?;
        looked.full = ours.keys().filter(|namespace| !empty.contains(*namespace)).cloned().collect();
        // Asked again right before: looking takes a while.
        let expected = self.expected(cluster.name(), &empty.iter().cloned().collect::<Vec<_>>());
        for namespace in empty {
            bucket.turn().await;
            if !self.leads() {
                break;
            }
            let Some(found) = ours.get(&namespace).filter(|_| !expected.contains(&namespace)) else {
                looked.busy.insert(namespace);
                continue;
            };
            let remove = async {
                let Some(_removing) = self.namespaces.remove(cluster.name(), &namespace) else { return Ok(false) };
                // A copy whose creation has ended meanwhile is in the index; after one that has also gone it waits anew.
                if self.is_used(cluster, &namespace) != Some(false) || lock(&visits.state).waits(&namespace) {
                    return Ok(false);
                }
                let key = ObjectKey::new("", Arc::clone(&namespace));
                writer.delete_version(&kind, &key, &found.uid, found.resource_version).await.map(|_| true)
            };
            match self.engine.write_alone(cluster, remove).await {
                Some(Ok(true)) => {
                    info!(cluster = %cluster.name(), %namespace, "empty namespace removed");
                    looked.removed.insert(namespace);
                }
                // Somebody has just edited it, perhaps to use it.
                Some(Ok(false) | Err(CallError::Conflict(_))) => _ = looked.busy.insert(namespace),
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(looked)
    }
}

/// Looks after one provider's namespaces until it leaves.
async fn look_after(broker: Arc<Broker>, provider: ClusterName, visits: Arc<Visits>) {
    let mut bucket = Bucket::new();
    loop {
        let next = lock(&visits.state).next();
        tokio::select! {
            () = broker.engine.stop.cancelled() => return,
            () = visits.wake.notified() => {}
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
        let Some(cluster) = broker.fleet().cluster(&provider) else {
            lock(&broker.namespaces.visits).remove(&provider);
            return;
        };
        let (sweep, round) = {
            let mut waiting = lock(&visits.state);
            (waiting.take_sweep(), waiting.take())
        };
        if !broker.leads() {
            // Whoever leads next looks at all of them.
            continue;
        }
        let Some(connection) = cluster.connection() else {
            lock(&visits.state).put_all_back(&round, sweep);
            continue;
        };
        let caller = connection.caller.clone().patient();
        // Seldom, and all that it needs meanwhile would stay with each provider for good.
        let looked = Box::pin(async {
            if sweep {
                let selector = format!("{}%3D{}", keys::MANAGED_BY.replace('/', "%2F"), keys::MANAGER);
                let asked = Asker { caller: &caller, bucket: &mut bucket }.namespaces(&selector).await;
                for namespace in asked? {
                    lock(&visits.state).swept(&namespace);
                }
            }
            if round.is_empty() {
                return Ok(Found::default());
            }
            let round = round.keys().cloned().collect();
            broker.remove_empty(&cluster, &caller, &mut bucket, &visits, round).await
        });
        match looked.await {
            Ok(found) => lock(&visits.state).put_back(&round, &found),
            Err(error) => {
                debug!(cluster = %provider, %error, "namespaces kept: it is not known whether they are empty");
                if matches!(error, CallError::Forbidden(_)) {
                    lock(&visits.state).forbid();
                } else {
                    lock(&visits.state).put_all_back(&round, sweep);
                }
            }
        }
    }
}
