//! The brake: when most of a consumer's origins have vanished without anybody having deleted them, their copies stay until
//! a person says that they may go.
//!
//! An origin with the broker's finalizer cannot go before its copies, so copies without an origin are few: those of
//! origins whose finalizer was forced off. Are they many, the consumer's kubeconfig leads to another cluster, or its etcd
//! was set back. That holds after a restart as well, because it is read off what is there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, Gvr, Role, keys};
use broker_core::{naming::consumer_hash, snapshot::Brake as Verdict};
use runtime_effect::{kind::Kind, note::Note};
use runtime_fleet::{
    cluster::Cluster,
    index::{Change, Index, Lookup},
    object::{Marks, Object, ObjectKey},
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    broker::{Broker, Brokered},
    events::About,
    registry::object_key,
};

/// So many copies without an origin are never held.
const FEW: usize = 10;

/// So many origins may vanish before it is looked again how many copies have lost theirs.
const VANISHED: u64 = 5;

/// How long what was seen counts: at least so long, and so many times the time that it took to see it.
const GOOD_FOR: (Duration, u32) = (Duration::from_secs(10), 20);

/// How often it is looked whether what is held may go.
const TICK: Duration = Duration::from_secs(2);

/// Deletions that are remembered of each consumer.
const SEEN: usize = 4096;

/// AcceptAPIs of one provider and kind that are told by an Event, and consumers that one condition names.
const TOLD: usize = 5;

/// What was seen of one consumer's copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sight {
    /// All of them, at all providers.
    copies: usize,
    /// Those without an origin.
    orphans: BTreeMap<(ClusterName, Kind), usize>,
    /// Where a person has confirmed that they may go.
    confirmed: BTreeSet<(ClusterName, Kind)>,
}

impl Sight {
    fn lost(&self) -> usize {
        self.orphans.values().sum()
    }

    /// Whether more have lost their origin than can be explained.
    fn is_abnormal(&self) -> bool {
        let lost = self.lost();
        lost > FEW && lost * 2 > self.copies
    }

    /// Providers and kinds whose orphans are kept.
    fn held(&self) -> impl Iterator<Item = (&(ClusterName, Kind), usize)> {
        let unconfirmed = |(place, _): &(&(ClusterName, Kind), &usize)| !self.confirmed.contains(*place);
        let held = self.orphans.iter().filter(|_| self.is_abnormal()).filter(unconfirmed);
        held.map(|(place, count)| (place, *count))
    }

    fn verdict(&self, provider: &ClusterName, kind: &Kind) -> Verdict {
        let confirmed = || self.confirmed.iter().any(|(at, of)| at == provider && of == kind);
        if self.is_abnormal() && !confirmed() { Verdict::Held } else { Verdict::Free }
    }
}

#[derive(Debug, Default)]
struct Entry {
    /// Origins that vanished without their deletion having been seen.
    vanished: u64,
    /// What was seen, when, for how long that counts, and how many had vanished by then.
    sight: Option<(Sight, Instant, Duration, u64)>,
    /// Somebody asks.
    wanted: bool,
    /// Digests of the uids of origins whose deletion was seen, oldest first.
    deleted: VecDeque<u64>,
}

/// What is held of whom.
#[derive(Debug, Default)]
pub struct Brake {
    consumers: Mutex<HashMap<ClusterName, Entry>>,
    wanted: Notify,
}

fn digest(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

impl Brake {
    fn lock(&self) -> MutexGuard<'_, HashMap<ClusterName, Entry>> {
        self.consumers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object of a brokered kind has changed in a consumer.
    pub fn note(&self, consumer: &ClusterName, change: &Change) {
        let Some(old) = &change.old else { return };
        let gone = change.new.as_ref().is_none_or(|new| new.uid != old.uid);
        if !gone || !old.has_finalizers {
            return;
        }
        let mut consumers = self.lock();
        let entry = consumers.entry(consumer.clone()).or_default();
        if old.deleting {
            entry.deleted.push_back(digest(&old.uid));
            if entry.deleted.len() > SEEN {
                entry.deleted.pop_front();
            }
        } else {
            entry.vanished += 1;
        }
    }

    /// Whether a copy at a provider that has lost its origin may be deleted. `Unknown`: ask again in a moment.
    pub fn ask(&self, consumer: &ClusterName, provider: &ClusterName, kind: &Kind) -> Verdict {
        let mut consumers = self.lock();
        let entry = consumers.entry(consumer.clone()).or_default();
        if let Some((sight, at, good_for, vanished)) = &entry.sight {
            let verdict = sight.verdict(provider, kind);
            if verdict == Verdict::Held || at.elapsed() < *good_for && entry.vanished < vanished + VANISHED {
                return verdict;
            }
        }
        entry.wanted = true;
        self.wanted.notify_one();
        Verdict::Unknown
    }

    /// What a provider is to be told of copies of a kind that are kept there.
    pub fn told(&self, provider: &ClusterName, kind: &Kind) -> Option<String> {
        let consumers = self.lock();
        let mut told: Vec<String> = Vec::new();
        for (consumer, entry) in consumers.iter() {
            let Some((sight, ..)) = &entry.sight else { continue };
            let here = sight.held().find(|((at, of), _)| at == provider && of == kind);
            if let Some((_, count)) = here {
                told.push(message(consumer, sight, count));
            }
        }
        drop(consumers);
        told.sort();
        told.truncate(TOLD);
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// How many copies of which consumer are kept.
    pub fn held(&self) -> Vec<(ClusterName, usize)> {
        let consumers = self.lock();
        let held = consumers.iter().filter_map(|(consumer, entry)| {
            let (sight, ..) = entry.sight.as_ref()?;
            let count = sight.held().map(|(_, count)| count).sum();
            (count > 0).then(|| (consumer.clone(), count))
        });
        let mut held: Vec<_> = held.collect();
        held.sort();
        held
    }

    /// Consumers to look at now.
    fn due(&self) -> Vec<(ClusterName, u64, HashSet<u64>)> {
        let mut consumers = self.lock();
        let due = consumers.iter_mut().filter_map(|(consumer, entry)| {
            let watched = entry.sight.as_ref().is_some_and(|(sight, at, good_for, _)| {
                let rested = at.elapsed() >= good_for.saturating_sub(GOOD_FOR.0).max(TICK);
                sight.is_abnormal() && rested
            });
            let due = std::mem::take(&mut entry.wanted) || watched;
            due.then(|| (consumer.clone(), entry.vanished, entry.deleted.iter().copied().collect()))
        });
        due.collect()
    }

    /// Takes in what was seen. Returns what had been seen before.
    fn see(&self, consumer: &ClusterName, sight: Sight, took: Duration, vanished: u64) -> Sight {
        let good_for = GOOD_FOR.0 + took * GOOD_FOR.1;
        let mut consumers = self.lock();
        let entry = consumers.entry(consumer.clone()).or_default();
        let before = entry.sight.replace((sight, Instant::now(), good_for, vanished));
        before.map(|(sight, ..)| sight).unwrap_or_default()
    }

    /// A cluster has left: nothing is remembered of it.
    pub fn forget(&self, cluster: &ClusterName) {
        self.lock().remove(cluster);
    }
}

fn message(consumer: &ClusterName, sight: &Sight, here: usize) -> String {
    let (name, lost, copies) = (consumer.name(), sight.lost(), sight.copies);
    format!(
        "{lost} of {copies} copies of consumer {name}'s objects have lost their origins, and nobody was seen to delete those; the {here} here are kept. If they may go, add the annotation {}: \"{name}\" to this AcceptAPI; else they are taken up again when the objects are back",
        keys::CONFIRM_DELETIONS
    )
}

/// Looks how many copies have lost their origins, when somebody asks, until `stop`.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = broker.brake.wanted.notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
        for (consumer, vanished, deleted) in broker.brake.due() {
            let looking = Arc::clone(&broker);
            let name = consumer.clone();
            let started = Instant::now();
            // Every copy of the consumer is unpacked: not on a thread that others wait for.
            let Ok(sight) = tokio::task::spawn_blocking(move || looking.sight(&name, &deleted)).await else { continue };
            let Some(sight) = sight else { continue };
            let before = broker.brake.see(&consumer, sight.clone(), started.elapsed(), vanished);
            broker.tell_of_held(&consumer, &before, &sight);
        }
    }
}

impl Broker {
    /// How many copies of a consumer there are, and how many have lost their origins. `None`: it is not engaged.
    fn sight(&self, consumer: &ClusterName, deleted: &HashSet<u64>) -> Option<Sight> {
        let cluster = self.fleet().cluster(consumer)?;
        let ring = self.ring.load_full()?;
        let prefix = format!("{}-", consumer_hash(consumer));
        let mut sight = Sight::default();
        for provider in self.fleet().in_role(Role::Provider) {
            for brokered in &self.watches.brokered {
                let (Some(copies), Some(origins)) = (provider.index(&brokered.spec), cluster.index(&brokered.spec))
                else {
                    continue;
                };
                let mut lost = 0;
                for (key, copy) in copies.snapshot() {
                    if copy.deleting || !key.name.starts_with(&prefix) {
                        continue;
                    }
                    let copy_of = Copied { brokered, provider: &provider, consumer, ring: &ring, deleted };
                    match copy_of.has_origin(&origins, &key, &copy, &prefix) {
                        Some(true) => sight.copies += 1,
                        Some(false) => lost += 1,
                        None => {}
                    }
                }
                if lost > 0 {
                    let place = (provider.name().clone(), (*brokered.kind).clone());
                    if self.is_confirmed(&provider, brokered, consumer) {
                        sight.confirmed.insert(place.clone());
                    }
                    sight.copies += lost;
                    sight.orphans.insert(place, lost);
                }
            }
        }
        Some(sight)
    }

    /// AcceptAPIs of a provider for a kind.
    fn accept_apis_of(&self, provider: &Cluster, brokered: &Brokered) -> Vec<(ObjectKey, Arc<Object>)> {
        let Some(index) = provider.index(&self.watches.accept_apis) else { return Vec::new() };
        let kind = provider.kind(&brokered.gvk);
        let Some(info) = kind.found() else { return Vec::new() };
        let speaks = |gvr: &Gvr| {
            gvr.group == brokered.kind.group && gvr.version == brokered.kind.version && gvr.resource == info.plural
        };
        let registry = self.registry.load();
        let entries = registry
            .entries()
            .filter(|(id, entry)| id.provider == *provider.name() && entry.gvr.as_ref().is_some_and(speaks));
        let keys = entries.map(|(id, _)| object_key(id));
        keys.filter_map(|key| index.get(&key).found().map(|object| (key, object))).collect()
    }

    fn is_confirmed(&self, provider: &Cluster, brokered: &Brokered, consumer: &ClusterName) -> bool {
        self.accept_apis_of(provider, brokered).iter().any(|(_, object)| {
            let marks = object.marks().annotations;
            let said = marks.get(keys::CONFIRM_DELETIONS).map(String::as_str).unwrap_or_default();
            said.split(',').map(str::trim).any(|name| name == consumer.name() || name == consumer.to_string())
        })
    }

    /// Has those looked at again whose copies may go now, and tells of those that are kept from now on.
    fn tell_of_held(&self, consumer: &ClusterName, before: &Sight, now: &Sight) {
        let was: BTreeSet<_> = before.held().map(|(place, _)| place).collect();
        let is: BTreeSet<_> = now.held().map(|(place, _)| place).collect();
        if was.difference(&is).next().is_some() {
            info!(%consumer, "copies that had been kept may go, or have their origins again");
            for brokered in &self.watches.brokered {
                self.enqueue_copies(brokered, consumer);
            }
        }
        for ((provider, kind), here) in now.held().filter(|(place, _)| !was.contains(place)) {
            let message = message(consumer, now, here);
            warn!(%consumer, %provider, kind = kind.kind, "{message}");
            let Some(cluster) = self.fleet().cluster(provider) else { continue };
            let Some(brokered) = self.watches.brokered.iter().find(|brokered| *brokered.kind == *kind) else {
                continue;
            };
            for (key, object) in self.accept_apis_of(&cluster, brokered).into_iter().take(TOLD) {
                let about = About {
                    cluster: provider.clone(),
                    api_version: format!("{}/v1alpha1", keys::GROUP),
                    kind: "AcceptAPI".into(),
                    namespace: key.namespace.to_string(),
                    name: key.name.to_string(),
                    uid: object.uid.to_string(),
                };
                self.recorder.send(about, Note::warning(broker_api::condition::ORIGINS_VANISHED, message.clone()));
            }
        }
    }
}

/// Copies of one consumer at one provider.
struct Copied<'a> {
    brokered: &'a Brokered,
    provider: &'a Cluster,
    consumer: &'a ClusterName,
    ring: &'a broker_core::assignment::KeyRing,
    deleted: &'a HashSet<u64>,
}

impl Copied<'_> {
    /// Whether a copy has its origin. `None`: nobody can tell, or it is no copy of ours, or its origin's deletion was seen.
    fn has_origin(&self, origins: &Index, key: &ObjectKey, copy: &Object, prefix: &str) -> Option<bool> {
        if !copy.has_body() {
            let origin = ObjectKey { namespace: Arc::clone(&key.namespace), name: key.name[prefix.len()..].into() };
            return match origins.get(&origin) {
                Lookup::Found(_) => Some(true),
                Lookup::Absent => Some(false),
                Lookup::Unknown => None,
            };
        }
        let Marks { annotations, .. } = copy.marks();
        let mark = |name: &str| annotations.get(name).map(String::as_str);
        let (namespace, name, uid) =
            (mark(keys::CONSUMER_NAMESPACE)?, mark(keys::CONSUMER_NAME)?, mark(keys::CONSUMER_UID)?);
        match origins.get(&ObjectKey::new(namespace, name)) {
            Lookup::Found(origin) if *origin.uid == *uid => return Some(true),
            Lookup::Found(_) | Lookup::Absent => {}
            Lookup::Unknown => return None,
        }
        // Only a signed one is deleted, and only a signed one counts: others may make as many objects as they like.
        let origin = Broker::origin_key(self.consumer, &self.brokered.kind, &ObjectKey::new(namespace, name));
        self.ring.verify_origin(&origin.subject(uid), self.provider.name().name(), mark(keys::ORIGIN)?)?;
        (!self.deleted.contains(&digest(uid))).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind() -> Kind {
        Kind { group: "g".into(), version: "v1".into(), kind: "K".into() }
    }

    fn place(provider: &str) -> (ClusterName, Kind) {
        (ClusterName::provider(provider), kind())
    }

    fn sight(copies: usize, orphans: &[(&str, usize)]) -> Sight {
        let orphans = orphans.iter().map(|(provider, count)| (place(provider), *count)).collect();
        Sight { copies, orphans, confirmed: BTreeSet::new() }
    }

    fn object(uid: &str, deleting: bool) -> Arc<Object> {
        let mut metadata = json!({"name": "a", "uid": uid, "resourceVersion": "1", "finalizers": ["f"]});
        if deleting {
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Arc::new(crate::conventions::object(&json!({"metadata": metadata})).1)
    }

    fn gone(uid: &str, deleting: bool) -> Change {
        Change { key: ObjectKey::new("n", "a"), old: Some(object(uid, deleting)), new: None }
    }

    #[test]
    fn only_more_than_ten_and_more_than_half_are_held() {
        let p = ClusterName::provider("p");
        assert_eq!(sight(10, &[("p", 10)]).verdict(&p, &kind()), Verdict::Free);
        assert_eq!(sight(22, &[("p", 11)]).verdict(&p, &kind()), Verdict::Free);
        assert_eq!(sight(21, &[("p", 11)]).verdict(&p, &kind()), Verdict::Held);
        // Few at each provider are many in all.
        assert_eq!(sight(12, &[("p", 6), ("q", 6)]).verdict(&p, &kind()), Verdict::Held);
        let mut confirmed = sight(12, &[("p", 6), ("q", 6)]);
        confirmed.confirmed.insert(place("q"));
        assert_eq!(confirmed.verdict(&p, &kind()), Verdict::Held);
        assert_eq!(confirmed.verdict(&ClusterName::provider("q"), &kind()), Verdict::Free);
        assert_eq!(confirmed.held().count(), 1);
    }

    #[test]
    fn what_was_seen_counts_until_more_have_vanished() {
        let (brake, homer, p) = (Brake::default(), ClusterName::consumer("homer"), ClusterName::provider("p"));
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Unknown);
        assert_eq!(brake.due().len(), 1);
        assert!(brake.due().is_empty());
        brake.see(&homer, sight(20, &[("p", 1)]), Duration::ZERO, 0);
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Free);
        for count in 0..VANISHED {
            assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Free, "{count} have vanished");
            brake.note(&homer, &gone("u", false));
        }
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Unknown);
        brake.see(&homer, sight(20, &[("p", 20)]), Duration::ZERO, VANISHED);
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Held);
        assert!(brake.told(&p, &kind()).is_some_and(|told| told.contains("20 of 20 copies of consumer homer")));
        assert_eq!(brake.held(), [(homer.clone(), 20)]);
        brake.see(&homer, sight(20, &[]), Duration::ZERO, VANISHED);
        assert_eq!((brake.told(&p, &kind()), brake.held()), (None, vec![]));
    }

    #[test]
    fn deletions_that_were_seen_are_remembered() {
        let (brake, homer, p) = (Brake::default(), ClusterName::consumer("homer"), ClusterName::provider("p"));
        brake.note(&homer, &gone("seen", true));
        let _ = brake.ask(&homer, &p, &kind());
        let due = brake.due();
        assert!(due[0].2.contains(&digest("seen")) && due[0].1 == 0);
        for uid in 0..2 * SEEN {
            brake.note(&homer, &gone(&uid.to_string(), true));
        }
        assert_eq!(brake.lock()[&homer].deleted.len(), SEEN);
    }
}
