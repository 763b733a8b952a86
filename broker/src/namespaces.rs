//! Namespaces that the broker made at providers go when they are empty: one provider's one after the other, and never
//! one in which a copy is being made.

mod contents;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, keys};
use runtime_fleet::{
    call::Caller, cluster::Cluster, error::CallError, index::Index, kind::KindState, object::ObjectKey, write::Writer,
};
use tokio::{sync::Notify, time::Instant};
use tracing::{debug, info};

use self::contents::{Asker, Bucket};
use crate::{act::namespaces, broker::Broker};

/// A copy that moves or is recreated is back by then.
const GRACE: Duration = Duration::from_secs(2);

/// When one in which a copy is being made, or of which nobody can tell, is looked at again.
const BUSY: Duration = Duration::from_secs(30);

/// When one that is not empty is looked at again: what belonged to a copy is collected as garbage some time after it, by
/// a controller that takes seconds to minutes. What is there then is other people's.
const FULL: [Duration; 4] =
    [Duration::from_secs(8), Duration::from_secs(30), Duration::from_mins(2), Duration::from_mins(10)];

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

/// One that waits.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    /// How often it was not empty since a copy has gone from it.
    full: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    due: BTreeMap<Arc<str>, Due>,
    /// When all that the broker made are looked at.
    sweep: Option<Instant>,
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
    fn add(&mut self, namespace: &Arc<str>, due: Due) {
        if self.due.len() < WAITING && self.quiet.is_none_or(|until| until <= Instant::now()) {
            let held = self.due.entry(Arc::clone(namespace)).or_insert(due);
            *held = Due { at: due.at.max(held.at), full: due.full.min(held.full) };
        }
    }

    /// At most a round of those whose time has come.
    fn take(&mut self) -> BTreeMap<Arc<str>, Due> {
        let now = Instant::now();
        let due = self.due.iter().filter(|(_, due)| due.at <= now).take(ROUND);
        let due: BTreeMap<_, _> = due.map(|(namespace, due)| (Arc::clone(namespace), *due)).collect();
        for namespace in due.keys() {
            self.due.remove(namespace);
        }
        due
    }

    /// When there is something to do.
    fn next(&self) -> Option<Instant> {
        self.due.values().map(|due| due.at).chain(self.sweep).min()
    }

    /// Whether all are to be looked at now.
    fn take_sweep(&mut self) -> bool {
        self.sweep.take_if(|at| *at <= Instant::now()).is_some()
    }

    /// What was found of those that were looked at.
    fn put_back(&mut self, looked: &BTreeMap<Arc<str>, Due>, found: &Found) {
        let now = Instant::now();
        for (namespace, due) in looked {
            if found.busy.contains(namespace) {
                self.add(namespace, Due { at: now + BUSY, full: due.full });
            } else if let Some(wait) = FULL.get(due.full).filter(|_| found.full.contains(namespace)) {
                self.add(namespace, Due { at: now + *wait, full: due.full + 1 });
            }
        }
    }

    /// Nobody could tell anything.
    fn put_all_back(&mut self, looked: &BTreeMap<Arc<str>, Due>, sweep: bool) {
        let at = Instant::now() + BUSY;
        for (namespace, due) in looked {
            self.add(namespace, Due { at, full: due.full });
        }
        if sweep {
            self.sweep.get_or_insert(at);
        }
    }

    fn forbid(&mut self) {
        self.due.clear();
        self.quiet = Some(Instant::now() + FORBIDDEN);
    }
}

/// What was found of some namespaces, but for those that have gone or are none of ours.
#[derive(Debug, Default)]
struct Found {
    /// Copies are on their way there, or nobody can tell.
    busy: HashSet<Arc<str>>,
    /// There is something in them that is no copy.
    full: HashSet<Arc<str>>,
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
        if self.is_used(&cluster, namespace) == Some(true) {
            return;
        }
        let lane = self.lane(provider);
        lock(&lane.state).add(namespace, Due { at: Instant::now() + GRACE, full: 0 });
        lane.wake.notify_one();
    }

    /// Namespaces that an earlier process made and did not come to remove are looked at.
    pub(crate) fn sweep_namespaces(&self, provider: &ClusterName) {
        let lane = self.lane(provider);
        lock(&lane.state).sweep = Some(Instant::now());
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
        let wanted: HashSet<&str> = namespaces.iter().map(|namespace| &**namespace).collect();
        let concerned = self.records.select(|key, record| {
            let here = |other: Option<&ClusterName>| other == Some(provider);
            wanted.contains(&*key.namespace)
                && (here(record.provider.as_ref()) || here(record.moving.as_deref().map(|moving| &moving.to)))
        });
        concerned.into_iter().map(|key| key.namespace).collect()
    }

    /// Removes those of these namespaces that the broker made and in which nothing is. An error means that nobody can tell:
    /// they stay.
    async fn remove_empty(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        bucket: &mut Bucket,
        round: Vec<Arc<str>>,
    ) -> Result<Found, CallError> {
        let expected = self.expected(cluster.name(), &round);
        let (busy, free): (Vec<_>, Vec<_>) = round.into_iter().partition(|namespace| expected.contains(namespace));
        let mut looked = Found { busy: busy.into_iter().collect(), ..Found::default() };
        let kind = namespaces();
        let writer = Writer::new(caller);
        let mut ours = BTreeMap::new();
        for namespace in free {
            match self.is_used(cluster, &namespace) {
                // When its last copy goes, it is looked at again.
                Some(true) => continue,
                Some(false) => {}
                None => {
                    looked.busy.insert(namespace);
                    continue;
                }
            }
            bucket.turn().await;
            let Some(found) = writer.get(&kind, &ObjectKey::new("", Arc::clone(&namespace))).await? else { continue };
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
            let Some(found) = ours.get(&namespace) else { continue };
            let used = expected.contains(&namespace) || self.is_used(cluster, &namespace) != Some(false);
            if used || !self.namespaces.begin_removal(cluster.name(), &namespace) {
                looked.busy.insert(namespace);
                continue;
            }
            let key = ObjectKey::new("", Arc::clone(&namespace));
            // A copy whose creation has ended meanwhile is in the index.
            let removed = if self.is_used(cluster, &namespace) == Some(false) {
                writer.delete_version(&kind, &key, &found.uid, found.resource_version).await
            } else {
                Ok(None)
            };
            self.namespaces.end_removal(cluster.name(), &namespace);
            match removed {
                Ok(_) => info!(cluster = %cluster.name(), %namespace, "empty namespace removed"),
                // Somebody has just edited it: it is in use.
                Err(CallError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(looked)
    }
}

/// Looks after one provider's namespaces until it leaves.
async fn look_after(broker: Arc<Broker>, provider: ClusterName, lane: Arc<Lane>) {
    let mut bucket = Bucket::new();
    loop {
        let next = lock(&lane.state).next();
        tokio::select! {
            () = broker.stop.cancelled() => return,
            () = lane.wake.notified() => {}
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
        let Some(cluster) = broker.fleet().cluster(&provider) else {
            lock(&broker.namespaces.lanes).remove(&provider);
            return;
        };
        let (sweep, round) = {
            let mut waiting = lock(&lane.state);
            (waiting.take_sweep(), waiting.take())
        };
        if !broker.leads() {
            // Whoever leads next looks at all of them.
            continue;
        }
        let Some(connection) = cluster.connection() else {
            lock(&lane.state).put_all_back(&round, sweep);
            continue;
        };
        let looked = async {
            if sweep {
                let selector = format!("{}%3D{}", keys::MANAGED_BY.replace('/', "%2F"), keys::MANAGER);
                let asked = Asker { caller: &connection.caller, bucket: &mut bucket }.namespaces(&selector).await;
                let now = Instant::now();
                for namespace in asked? {
                    lock(&lane.state).add(&namespace, Due { at: now, full: 0 });
                }
            }
            if round.is_empty() {
                return Ok(Found::default());
            }
            let round = round.keys().cloned().collect();
            broker.remove_empty(&cluster, &connection.caller, &mut bucket, round).await
        };
        match looked.await {
            Ok(found) => lock(&lane.state).put_back(&round, &found),
            Err(error) => {
                debug!(cluster = %provider, %error, "namespaces kept: it is not known whether they are empty");
                if matches!(error, CallError::Forbidden(_)) {
                    lock(&lane.state).forbid();
                } else {
                    lock(&lane.state).put_all_back(&round, sweep);
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
            waiting.add(&Arc::from(format!("n{number}")), Due { at: now, full: 0 });
        }
        // A copy has gone from it again.
        for at in [now, now + BUSY, now] {
            waiting.add(&"later".into(), Due { at, full: 0 });
        }
        assert_eq!(waiting.take().len(), ROUND);
        assert_eq!(waiting.take().len(), 5);
        assert_eq!((waiting.take().len(), waiting.due.len()), (0, 1));
        waiting.forbid();
        waiting.add(&"n".into(), Due { at: now, full: 0 });
        assert!(waiting.due.is_empty());
    }

    #[test]
    fn one_that_is_not_empty_is_looked_at_some_times_more_and_one_that_nobody_can_tell_of_until_somebody_can() {
        let mut waiting = Waiting::default();
        let namespace: Arc<str> = "team".into();
        let now = Instant::now();
        let full = Found { full: HashSet::from([Arc::clone(&namespace)]), ..Found::default() };
        let busy = Found { busy: HashSet::from([Arc::clone(&namespace)]), ..Found::default() };
        let looked = |full| BTreeMap::from([(Arc::clone(&namespace), Due { at: now, full })]);
        for (times, wait) in FULL.iter().enumerate() {
            waiting.put_back(&looked(times), &full);
            let due = waiting.due.remove(&namespace).unwrap();
            assert!(due.at >= now + *wait && due.full == times + 1);
        }
        waiting.put_back(&looked(FULL.len()), &full);
        waiting.put_back(&looked(0), &Found::default());
        assert!(waiting.due.is_empty(), "what is in it is other people's; or it has gone");
        waiting.put_back(&looked(FULL.len()), &busy);
        assert_eq!(waiting.due.remove(&namespace).unwrap().full, FULL.len());
        // A copy that goes from it begins anew.
        waiting.add(&namespace, Due { at: now + BUSY, full: 2 });
        waiting.add(&namespace, Due { at: now, full: 0 });
        assert!(waiting.due[&namespace].full == 0 && waiting.due[&namespace].at >= now + BUSY);

        waiting.put_all_back(&looked(1), true);
        assert!(!waiting.take_sweep() && waiting.next().is_some(), "later");
        waiting.sweep = Some(now);
        assert!(waiting.take_sweep() && !waiting.take_sweep());
    }
}
