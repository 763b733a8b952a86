//! Namespaces that the broker made at providers go when they are empty: one provider's one after the other, and never
//! one in which a copy is being made.

mod contents;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, keys};
use broker_fleet::{
    call::Caller, cluster::Cluster, error::CallError, index::Index, kind::KindState, object::ObjectKey, write::Writer,
};
use tokio::{sync::Notify, time::Instant};
use tracing::{debug, info};

use self::contents::{Asker, Bucket};
use crate::{act::namespaces, broker::Broker};

/// A copy that moves or is recreated is back by then.
const GRACE: Duration = Duration::from_secs(2);

/// When one in which a copy is being made is looked at again.
const BUSY: Duration = Duration::from_secs(30);

/// How long nothing is asked of a provider that does not allow it.
const FORBIDDEN: Duration = Duration::from_mins(5);

/// So many namespaces are looked at at once.
const ROUND: usize = 20;

/// So many wait at one provider at the most; an empty one that was not looked at goes after the next start.
const WAITING: usize = 50_000;

/// Namespaces of all providers that are to be looked at, and those in which copies are being made.
#[derive(Debug, Default)]
pub struct Namespaces {
    lanes: Mutex<HashMap<ClusterName, Arc<Lane>>>,
    writes: Mutex<Writes>,
}

/// Namespaces of one provider.
#[derive(Debug, Default)]
struct Lane {
    state: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    due: BTreeMap<Arc<str>, Instant>,
    sweep: bool,
    /// Until then nothing is asked.
    quiet: Option<Instant>,
}

#[derive(Debug, Default)]
struct Writes {
    /// How many copies are being made in a namespace now.
    creating: HashMap<(ClusterName, Arc<str>), usize>,
    /// The namespace of a provider that is being deleted now.
    removing: HashSet<(ClusterName, Arc<str>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// The latest word counts: one in which copies come and go is not looked at between two of them.
    fn add(&mut self, namespace: &Arc<str>, due: Instant) {
        if self.due.len() < WAITING && self.quiet.is_none_or(|until| until <= Instant::now()) {
            let held = self.due.entry(Arc::clone(namespace)).or_insert(due);
            *held = due.max(*held);
        }
    }

    /// At most a round of those whose time has come.
    fn take(&mut self) -> Vec<Arc<str>> {
        let now = Instant::now();
        let due = self.due.iter().filter(|(_, due)| **due <= now).map(|(namespace, _)| Arc::clone(namespace));
        let due: Vec<_> = due.take(ROUND).collect();
        for namespace in &due {
            self.due.remove(namespace);
        }
        due
    }

    fn forbid(&mut self) {
        self.due.clear();
        self.quiet = Some(Instant::now() + FORBIDDEN);
    }
}

/// A copy is being made. Dropping it ends that.
#[derive(Debug)]
pub struct Creating<'a> {
    namespaces: &'a Namespaces,
    place: (ClusterName, Arc<str>),
}

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        let mut writes = lock(&self.namespaces.writes);
        if let Some(count) = writes.creating.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                writes.creating.remove(&self.place);
            }
        }
    }
}

impl Namespaces {
    /// A copy is about to be made in a namespace of a provider. `None`: that is being deleted; in a moment.
    pub fn create(&self, provider: &ClusterName, namespace: &str) -> Option<Creating<'_>> {
        let place = (provider.clone(), Arc::from(namespace));
        let mut writes = lock(&self.writes);
        if writes.removing.contains(&place) {
            return None;
        }
        *writes.creating.entry(place.clone()).or_default() += 1;
        Some(Creating { namespaces: self, place })
    }

    /// The namespace is about to be deleted. False: a copy is being made there.
    fn begin_removal(&self, provider: &ClusterName, namespace: &Arc<str>) -> bool {
        let place = (provider.clone(), Arc::clone(namespace));
        let mut writes = lock(&self.writes);
        !writes.creating.contains_key(&place) && writes.removing.insert(place)
    }

    fn end_removal(&self, provider: &ClusterName, namespace: &Arc<str>) {
        lock(&self.writes).removing.remove(&(provider.clone(), Arc::clone(namespace)));
    }
}

impl Broker {
    /// A copy has gone from this namespace of a provider.
    pub(crate) fn copy_gone(&self, provider: &ClusterName, namespace: &Arc<str>) {
        let Some(cluster) = self.fleet().cluster(provider).filter(|_| self.leads()) else { return };
        if self.is_used(&cluster, namespace) {
            return;
        }
        let lane = self.lane(provider);
        lock(&lane.state).add(namespace, Instant::now() + GRACE);
        lane.wake.notify_one();
    }

    /// Namespaces that an earlier process made and did not come to remove are looked at.
    pub(crate) fn sweep_namespaces(&self, provider: &ClusterName) {
        let lane = self.lane(provider);
        lock(&lane.state).sweep = true;
        lane.wake.notify_one();
    }

    /// What waits at a provider; the first time, somebody who looks after it.
    fn lane(&self, provider: &ClusterName) -> Arc<Lane> {
        let mut lanes = lock(&self.namespaces.lanes);
        let lane = lanes.entry(provider.clone()).or_insert_with(|| {
            let lane = Arc::<Lane>::default();
            tokio::spawn(look_after(self.itself(), provider.clone(), Arc::clone(&lane)));
            lane
        });
        Arc::clone(lane)
    }

    /// Whether copies are, or may be, in a namespace of a provider.
    fn is_used(&self, cluster: &Cluster, namespace: &str) -> bool {
        // A kind that the provider does not serve has no objects there; its index is never complete.
        let counts = |index: &Index| {
            self.watches.brokered_by(index.spec()).is_some() && cluster.kind(&index.spec().gvk) != KindState::Missing
        };
        cluster.indexes().iter().any(|index| counts(index) && (!index.is_complete() || index.has_any_in(namespace)))
    }

    /// Those of these namespaces for which an origin is assigned to the provider, or on its way there.
    fn expected(&self, provider: &ClusterName, namespaces: &[Arc<str>]) -> HashSet<Arc<str>> {
        let wanted: HashSet<&str> = namespaces.iter().map(|namespace| &**namespace).collect();
        let concerned = self.records.select(|key, record| {
            let here = |other: Option<&ClusterName>| other == Some(provider);
            wanted.contains(&*key.namespace)
                && (here(record.provider.as_ref()) || here(record.moving.as_deref().map(|moving| &moving.to)))
        });
        concerned.into_iter().map(|key| key.namespace).collect()
    }

    /// Removes those of these namespaces that the broker made and in which nothing is. An error means that nobody can tell:
    /// they stay. Returns those that are to be looked at again.
    async fn remove_empty(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        bucket: &mut Bucket,
        round: Vec<Arc<str>>,
    ) -> Result<Vec<Arc<str>>, CallError> {
        let expected = self.expected(cluster.name(), &round);
        let (mut busy, free): (Vec<_>, Vec<_>) = round.into_iter().partition(|namespace| expected.contains(namespace));
        let kind = namespaces();
        let writer = Writer::new(caller, keys::MANAGER);
        let mut ours = BTreeMap::new();
        for namespace in free {
            if self.is_used(cluster, &namespace) {
                continue;
            }
            bucket.turn().await;
            let Some(found) = writer.get(&kind, &ObjectKey::new("", Arc::clone(&namespace))).await? else { continue };
            let made = found.marks().labels.get(keys::MANAGED_BY).is_some_and(|manager| manager == keys::MANAGER);
            if made && !found.deleting {
                ours.insert(namespace, found);
            }
        }
        if ours.is_empty() {
            return Ok(busy);
        }
        let empty = Asker { caller, bucket }.empty(ours.keys().cloned().collect()).await?;
        // Asked again right before: looking takes a while.
        let expected = self.expected(cluster.name(), &empty.iter().cloned().collect::<Vec<_>>());
        for namespace in empty {
            bucket.turn().await;
            if !self.leads() || self.is_used(cluster, &namespace) {
                continue;
            }
            let Some(found) = ours.get(&namespace) else { continue };
            if expected.contains(&namespace) || !self.namespaces.begin_removal(cluster.name(), &namespace) {
                busy.push(namespace);
                continue;
            }
            let key = ObjectKey::new("", Arc::clone(&namespace));
            // A copy whose creation has ended meanwhile is in the index.
            let removed = if self.is_used(cluster, &namespace) {
                Ok(None)
            } else {
                writer.delete_version(&kind, &key, &found.uid, found.resource_version).await
            };
            self.namespaces.end_removal(cluster.name(), &namespace);
            match removed {
                Ok(_) => info!(cluster = %cluster.name(), %namespace, "empty namespace removed"),
                // Somebody has just edited it: it is in use.
                Err(CallError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(busy)
    }
}

/// Looks after one provider's namespaces until it leaves.
async fn look_after(broker: Arc<Broker>, provider: ClusterName, lane: Arc<Lane>) {
    let mut bucket = Bucket::new();
    loop {
        let (next, swept) = {
            let waiting = lock(&lane.state);
            (waiting.due.values().min().copied(), waiting.sweep)
        };
        let now = Instant::now();
        tokio::select! {
            () = broker.stop.cancelled() => return,
            () = lane.wake.notified(), if !swept => {}
            () = tokio::time::sleep_until(next.filter(|_| !swept).unwrap_or(now)), if next.is_some() || swept => {}
        }
        let Some(cluster) = broker.fleet().cluster(&provider) else {
            lock(&broker.namespaces.lanes).remove(&provider);
            return;
        };
        let sweep = std::mem::take(&mut lock(&lane.state).sweep);
        let round = lock(&lane.state).take();
        let Some(connection) = cluster.connection().filter(|_| broker.leads()) else { continue };
        let looked = async {
            if sweep {
                let selector = format!("{}%3D{}", keys::MANAGED_BY.replace('/', "%2F"), keys::MANAGER);
                let asked = Asker { caller: &connection.caller, bucket: &mut bucket }.namespaces(&selector).await;
                let now = Instant::now();
                for namespace in asked? {
                    lock(&lane.state).add(&namespace, now);
                }
            }
            if round.is_empty() {
                return Ok(Vec::new());
            }
            broker.remove_empty(&cluster, &connection.caller, &mut bucket, round).await
        };
        match looked.await {
            Ok(busy) => {
                let again = Instant::now() + BUSY;
                for namespace in &busy {
                    lock(&lane.state).add(namespace, again);
                }
            }
            Err(error) => {
                debug!(cluster = %provider, %error, "namespaces kept: it is not known whether they are empty");
                if matches!(error, CallError::Forbidden(_)) {
                    lock(&lane.state).forbid();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_not_deleted_while_a_copy_is_made_there_nor_the_other_way_round() {
        let namespaces = Namespaces::default();
        let (one, two) = (ClusterName::provider("one"), ClusterName::provider("two"));
        let team: Arc<str> = "team".into();
        let first = namespaces.create(&one, "team").unwrap();
        let second = namespaces.create(&one, "team").unwrap();
        assert!(!namespaces.begin_removal(&one, &team));
        assert!(namespaces.begin_removal(&two, &team), "another provider's");
        drop(first);
        assert!(!namespaces.begin_removal(&one, &team));
        drop(second);
        assert!(namespaces.begin_removal(&one, &team));
        assert!(namespaces.create(&one, "team").is_none());
        namespaces.end_removal(&one, &team);
        assert!(namespaces.create(&one, "team").is_some());
        assert!(lock(&namespaces.writes).creating.is_empty(), "nothing is left of what has ended");
    }

    #[test]
    fn those_whose_time_has_come_are_taken_in_rounds() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        for number in 0..ROUND + 5 {
            waiting.add(&Arc::from(format!("n{number}")), now);
        }
        // A copy has gone from it again.
        for due in [now, now + BUSY, now] {
            waiting.add(&"later".into(), due);
        }
        assert_eq!(waiting.take().len(), ROUND);
        assert_eq!(waiting.take().len(), 5);
        assert_eq!((waiting.take().len(), waiting.due.len()), (0, 1));
        waiting.forbid();
        waiting.add(&"n".into(), now);
        assert!(waiting.due.is_empty());
    }
}
