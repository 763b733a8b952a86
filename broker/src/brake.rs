//! The brake: when most of a consumer's origins have vanished without anybody having deleted them, their copies stay until
//! a person says that they may go.
//!
//! An origin with the broker's finalizer cannot go before its copies, so copies without an origin are few: those of
//! origins whose finalizer was forced off. Are they many, the consumer's kubeconfig leads to another cluster, or its etcd
//! was set back. That holds after a restart as well, because it is read off what is there.

pub mod look;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, keys};
use broker_core::snapshot::Brake as Verdict;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    index::Change,
};
use tokio::{sync::Notify, time::Instant};

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
    /// All of them, at all providers, by kind.
    copies: BTreeMap<Kind, usize>,
    /// Those without an origin.
    orphans: BTreeMap<(ClusterName, Kind), usize>,
    /// Where a person has confirmed that they may go.
    confirmed: BTreeSet<(ClusterName, Kind)>,
    /// Kinds of which nobody can say what the consumer has: what is said of them was seen before.
    unseen: BTreeSet<Kind>,
}

impl Sight {
    /// Nobody can say what the consumer has of a kind: what had lost its origin has lost it still, what had not counts for nothing,
    /// and nothing is let go.
    fn carry(&mut self, kind: &Kind, before: &Self) {
        let of_kind = before.orphans.iter().filter(|((_, of), _)| of == kind);
        let lost: Vec<_> = of_kind.map(|(place, lost)| (place.clone(), *lost)).collect();
        self.copies.insert(kind.clone(), lost.iter().map(|(_, lost)| lost).sum());
        self.orphans.extend(lost);
        self.unseen.insert(kind.clone());
    }

    fn all(&self) -> usize {
        self.copies.values().sum()
    }

    fn lost(&self) -> usize {
        self.orphans.values().sum()
    }

    /// Whether more have lost their origin than can be explained.
    fn is_abnormal(&self) -> bool {
        let lost = self.lost();
        lost > FEW && lost * 2 > self.all()
    }

    /// Providers and kinds whose orphans are kept.
    fn held(&self) -> impl Iterator<Item = (&(ClusterName, Kind), usize)> {
        let unconfirmed = |(place, _): &(&(ClusterName, Kind), &usize)| !self.confirmed.contains(*place);
        let held = self.orphans.iter().filter(|_| self.is_abnormal()).filter(unconfirmed);
        held.map(|(place, count)| (place, *count))
    }

    fn verdict(&self, provider: &ClusterName, kind: &Kind) -> Verdict {
        let confirmed = || self.confirmed.iter().any(|(at, of)| at == provider && of == kind);
        match self.is_abnormal() && !confirmed() {
            true => Verdict::Held,
            false if self.unseen.contains(kind) => Verdict::Unknown,
            false => Verdict::Free,
        }
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

#[derive(Debug, Default)]
struct Inner {
    consumers: HashMap<ClusterName, Entry>,
    /// Consumers whose copies of a kind are kept at a provider: each AcceptAPI there asks for them whenever it is looked at.
    held: BTreeMap<(ClusterName, Kind), BTreeSet<ClusterName>>,
}

impl Inner {
    /// What was seen of a consumer counts, or does not any more.
    fn count(&mut self, consumer: &ClusterName, sight: &Sight, counts: bool) {
        for (place, _) in sight.held() {
            if counts {
                self.held.entry(place.clone()).or_default().insert(consumer.clone());
            } else if let Some(consumers) = self.held.get_mut(place) {
                consumers.remove(consumer);
                if consumers.is_empty() {
                    self.held.remove(place);
                }
            }
        }
    }
}

/// What is held of whom.
#[derive(Debug, Default)]
pub struct Brake {
    inner: Mutex<Inner>,
    wanted: Notify,
}

fn digest(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

impl Brake {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object of a brokered kind has changed in a consumer.
    pub fn note(&self, consumer: &ClusterName, change: &Change) {
        let Some(old) = &change.old else { return };
        let gone = change.new.as_ref().is_none_or(|new| new.uid != old.uid);
        if !gone || !old.has_finalizers {
            return;
        }
        let mut inner = self.lock();
        let entry = inner.consumers.entry(consumer.clone()).or_default();
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
        let mut inner = self.lock();
        let entry = inner.consumers.entry(consumer.clone()).or_default();
        if let Some((sight, at, good_for, vanished)) = &entry.sight {
            let verdict = sight.verdict(provider, kind);
            let counts = at.elapsed() < *good_for && entry.vanished < vanished + VANISHED;
            if verdict == Verdict::Held || counts && verdict != Verdict::Unknown {
                return verdict;
            }
        }
        entry.wanted = true;
        self.wanted.notify_one();
        Verdict::Unknown
    }

    /// What a provider is to be told of copies of a kind that are kept there.
    pub fn told(&self, provider: &ClusterName, kind: &Kind) -> Option<String> {
        let inner = self.lock();
        let place = (provider.clone(), kind.clone());
        let mut told: Vec<String> = Vec::new();
        for consumer in inner.held.get(&place).into_iter().flatten() {
            let Some((sight, ..)) = inner.consumers.get(consumer).and_then(|entry| entry.sight.as_ref()) else {
                continue;
            };
            let here = sight.orphans.get(&place).copied().unwrap_or_default();
            told.push(message(consumer, sight, here));
        }
        drop(inner);
        told.sort();
        told.truncate(TOLD);
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// How many copies of which consumer are kept.
    pub fn held(&self) -> Vec<(ClusterName, usize)> {
        let inner = self.lock();
        let held = inner.consumers.iter().filter_map(|(consumer, entry)| {
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
        let mut inner = self.lock();
        let due = inner.consumers.iter_mut().filter_map(|(consumer, entry)| {
            let watched = entry.sight.as_ref().is_some_and(|(sight, at, good_for, _)| {
                let rested = at.elapsed() >= good_for.saturating_sub(GOOD_FOR.0).max(TICK);
                sight.is_abnormal() && rested
            });
            let due = std::mem::take(&mut entry.wanted) || watched;
            due.then(|| (consumer.clone(), entry.vanished, entry.deleted.iter().copied().collect()))
        });
        due.collect()
    }

    /// What was seen of a consumer last.
    fn last(&self, consumer: &ClusterName) -> Sight {
        let inner = self.lock();
        let sight = inner.consumers.get(consumer).and_then(|entry| entry.sight.as_ref());
        sight.map(|(sight, ..)| sight.clone()).unwrap_or_default()
    }

    /// Takes in what was seen. Returns what had been seen before.
    fn see(&self, consumer: &ClusterName, sight: Sight, took: Duration, vanished: u64) -> Sight {
        let good_for = GOOD_FOR.0 + took * GOOD_FOR.1;
        let mut inner = self.lock();
        let before = inner.consumers.entry(consumer.clone()).or_default().sight.take();
        let before = before.map(|(sight, ..)| sight).unwrap_or_default();
        inner.count(consumer, &before, false);
        inner.count(consumer, &sight, true);
        let entry = inner.consumers.entry(consumer.clone()).or_default();
        entry.sight = Some((sight, Instant::now(), good_for, vanished));
        before
    }

    /// A cluster has left: nothing is remembered of it. Returns the providers that were told of its copies.
    pub fn forget(&self, cluster: &ClusterName) -> BTreeSet<ClusterName> {
        let mut inner = self.lock();
        let forgotten = inner.consumers.remove(cluster).and_then(|entry| entry.sight);
        let Some((sight, ..)) = forgotten else { return BTreeSet::new() };
        inner.count(cluster, &sight, false);
        sight.held().map(|((provider, _), _)| provider.clone()).collect()
    }
}

fn message(consumer: &ClusterName, sight: &Sight, here: usize) -> String {
    let (name, lost, copies) = (consumer.name(), sight.lost(), sight.all());
    format!(
        "{lost} of {copies} copies of consumer {name}'s objects have lost their origins, and nobody was seen to delete those; the {here} here are kept. If they may go, add the annotation {}: \"{name}\" to this AcceptAPI; else they are taken up again when the objects are back",
        keys::CONFIRM_DELETIONS
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runtime_fleet::object::{Object, ObjectKey};
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
        Sight { copies: [(kind(), copies)].into(), orphans, ..Sight::default() }
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

    /// After a takeover nobody knows what a consumer has until it is listed again: that frees nothing that was held.
    #[test]
    fn what_nobody_can_say_frees_nothing() {
        let (brake, homer, p) = (Brake::default(), ClusterName::consumer("homer"), ClusterName::provider("p"));
        let other = Kind { kind: "L".into(), ..kind() };
        let blind = |before: &Sight| {
            let mut sight = Sight { copies: [(other.clone(), 3)].into(), ..Sight::default() };
            sight.carry(&kind(), before);
            sight
        };
        let see = |sight| brake.see(&homer, sight, Duration::ZERO, 0);
        see(blind(&brake.last(&homer)));
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Unknown, "it was never seen");
        assert_eq!(brake.ask(&homer, &p, &other), Verdict::Free);
        assert_eq!(brake.due().len(), 1, "and is looked at");
        see(sight(20, &[("p", 20)]));
        see(blind(&brake.last(&homer)));
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Held);
        assert_eq!(brake.held(), [(homer.clone(), 20)]);
        see(sight(20, &[("p", 1)]));
        see(blind(&brake.last(&homer)));
        assert_eq!(brake.ask(&homer, &p, &kind()), Verdict::Unknown, "what was seen before");
        // Of another kind all are lost, and the first had been well.
        let mut lost = Sight { copies: [(other.clone(), 20)].into(), ..Sight::default() };
        lost.orphans.insert((p.clone(), other.clone()), 20);
        lost.carry(&kind(), &sight(30, &[]));
        assert_eq!(lost.verdict(&p, &other), Verdict::Held);
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
        assert!(brake.forget(&homer).is_empty());
        brake.see(&homer, sight(20, &[("p", 20)]), Duration::ZERO, VANISHED);
        assert_eq!(brake.forget(&homer), [p.clone()].into(), "those that were told of it");
        assert!(
            brake.told(&p, &kind()).is_none() && brake.lock().held.is_empty(),
            "nothing is kept of one that has left"
        );
    }

    #[test]
    fn a_provider_is_told_of_what_is_kept_there() {
        let brake = Brake::default();
        let (homer, marge) = (ClusterName::consumer("homer"), ClusterName::consumer("marge"));
        let told = |provider: &str| {
            let told = brake.told(&ClusterName::provider(provider), &kind()).unwrap_or_default();
            ["homer", "marge"].map(|consumer| told.contains(&format!("consumer {consumer}'s")))
        };
        let see = |consumer: &ClusterName, sight| brake.see(consumer, sight, Duration::ZERO, 0);
        see(&homer, sight(20, &[("p", 20), ("q", 1)]));
        see(&marge, sight(20, &[("p", 20)]));
        assert_eq!((told("p"), told("q"), told("r")), ([true, true], [true, false], [false, false]));
        see(&homer, sight(20, &[("q", 20)]));
        assert_eq!((told("p"), told("q")), ([false, true], [true, false]), "those at p may have gone");
        see(&marge, sight(20, &[("p", 1)]));
        assert_eq!(told("p"), [false, false], "so few are not kept");
        assert_eq!(brake.lock().held.len(), 1);
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
        assert_eq!(brake.lock().consumers[&homer].deleted.len(), SEEN);
    }
}
