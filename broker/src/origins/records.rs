//! What the broker remembers of origins between decisions. All of it can be lost: a restart finds it again.
//!
//! One lock is held for all of it, because room, quotas and turns are given to one of several who ask at the same time.
//! What is done under it takes as long as what is touched is many: one record, or the origins that are asked for. Nothing
//! walks all records but the questions about all of them.

pub mod bounds;
mod index;
mod record;
mod room;
pub mod spread;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broker_api::ClusterName;
use broker_core::{
    acceptance::AcceptId,
    decision::{Decision, State},
    memory::OriginMemory,
    movement::Route,
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, kind::Kind};
use runtime_engine::interests::Interests;
use runtime_fleet::{hashed::HashMap, object::ObjectKey};

pub use self::record::Record;
use self::{
    bounds::Bounds,
    index::{Facts, Index},
    room::{Given, Room},
    spread::Spread,
};
use super::key::copy_key;

/// How many are listed at once where all are looked at.
const AT_ONCE: usize = 1000;

/// What became of a decision that was taken in.
#[expect(clippy::struct_excessive_bools, reason = "each has somebody else looked at, and any may be so with any")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absorbed {
    /// The AcceptAPI that the origin no longer counts for.
    pub freed: Option<AcceptId>,
    /// The AcceptAPI that it counts for and did not before.
    pub taken: Option<AcceptId>,
    /// Its consumer had as many objects as it may have, and has one less now.
    pub relieved: bool,
    /// It listens to related objects that it did not listen to before: they may have changed meanwhile.
    pub listens: bool,
    /// What is to be told to its Migrations has changed.
    pub moved: bool,
    /// Origins whose turn to move has come.
    pub turns: Vec<OriginKey>,
    /// Since it was remembered for this decision, origins were looked for by what is known of them, and this one was found as it
    /// was before, or was not found: whoever told those had news that the decision may lack.
    pub missed: bool,
}

/// What a decision begins with.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Of the last decision.
    pub memory: OriginMemory,
    /// How the origin stood was known before.
    pub known: bool,
    /// How often origins have been looked for by what is known of them; see [`Absorbed::missed`].
    pub searches: u64,
}

#[derive(Default)]
struct Inner {
    /// Boxed: a table is larger than what is in it, by up to a half and more.
    records: HashMap<Arc<OriginKey>, Box<Record>>,
    /// The same, by what is asked for.
    index: Index,
    room: Room,
    states: HashMap<State, i64>,
    interests: Interests<Arc<OriginKey>>,
    /// See [`Remembered::searches`].
    searches: u64,
}

/// All origins.
#[derive(Default)]
pub struct Records(Mutex<Inner>);

impl Records {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of an origin, before it is observed.
    pub fn remembered(&self, key: &OriginKey) -> Remembered {
        let inner = self.lock();
        let searches = inner.searches;
        let Some(record) = inner.records.get(key) else { return Remembered { searches, ..Remembered::default() } };
        Remembered { memory: record.memory.clone(), known: record.state != State::Unknown, searches }
    }

    /// Which provider an origin is assigned to, as of the last decision.
    pub fn provider(&self, key: &OriginKey) -> Option<ClusterName> {
        self.lock().records.get(key)?.provider.clone()
    }

    /// Whether an origin is assigned to a provider; `None`: nothing is remembered of it.
    pub fn is_at(&self, key: &OriginKey, provider: &ClusterName) -> Option<bool> {
        Some(self.lock().records.get(key)?.provider.as_ref() == Some(provider))
    }

    /// Reads or changes a record, if there is one: what is gone is not remembered again.
    pub fn with<T>(&self, key: &OriginKey, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.lock().records.get_mut(key).map(|record| change(record))
    }

    /// What was last said of the origins of a consumer, of one kind, may be old.
    pub fn doubt(&self, consumer: &ClusterName, kind: &Kind) {
        for key in self.of_consumer(consumer, Some(kind)) {
            self.with(&key, |record| record.doubted = true);
        }
    }

    /// Those of which that is so still.
    pub fn doubted(&self, consumer: &ClusterName, kind: &Kind) -> Vec<OriginKey> {
        let is_doubted = |key: &OriginKey| self.with(key, |record| record.doubted) == Some(true);
        self.of_consumer(consumer, Some(kind)).into_iter().filter(is_doubted).collect()
    }

    /// Takes in a decision. Forgets origins that are gone. `None`: others have meanwhile taken the last room, or the last
    /// turn to move, and nothing was taken in.
    pub fn absorb(&self, key: &OriginKey, decision: &Decision, bounds: Bounds<'_>) -> Option<Absorbed> {
        let mut inner = self.lock();
        let Inner { records, index, room, states, interests, searches } = &mut *inner;
        let missed = *searches > bounds.searches;
        let entry = records.entry(Arc::new(key.clone()));
        let key = &Arc::clone(entry.key());
        let record = entry.or_insert_with(|| {
            index.change(key, None, Some(&Facts::default()));
            Box::default()
        });
        if !room.admits(key, record, decision, bounds) {
            return None;
        }
        let before = record.facts();
        let Given { freed, taken, relieved, turns } = room.give(key, record, decision, bounds);
        let listens = interests.listen(key, &mut record.interests, &decision.interests);
        if record.listed {
            *states.entry(record.state).or_default() -= 1;
        }
        if decision.forgets() {
            index.change(key, Some(&before), None);
            records.remove(key);
            // A Migration about it hears that it is gone, whatever it was before.
            return Some(Absorbed { freed, taken, relieved, listens: false, moved: true, turns, missed });
        }
        let moved = record.absorb(decision, missed);
        *states.entry(decision.state).or_default() += 1;
        index.change(key, Some(&before), Some(&record.facts()));
        Some(Absorbed { freed, taken, relieved, listens, moved, turns, missed })
    }

    /// Whether an AcceptAPI has room for an origin, which may be counted there already. `None`: not all that its provider
    /// holds has been seen.
    pub fn has_room(&self, id: &AcceptId, capacity: u64, key: &OriginKey) -> Option<bool> {
        let inner = self.lock();
        if !inner.room.strays.is_known(&id.provider, &key.gvk) {
            return None;
        }
        let own = inner.records.get(key).is_some_and(|record| record.counted.as_ref() == Some(id));
        let placed = inner.room.count(id) - u64::from(own);
        Some(placed + inner.room.strays(id, key) < capacity)
    }

    /// A copy at a provider came, changed or went: whether it is there now is asked while nothing else changes. Returns
    /// whether it has gone and was one that no known origin accounted for: then there may be room.
    pub fn copy_moved(
        &self,
        provider: &ClusterName,
        kind: &Arc<Kind>,
        copy: &ObjectKey,
        origins: &[OriginKey],
        is_there: impl FnOnce() -> bool,
    ) -> bool {
        let mut inner = self.lock();
        let accounted = |origin: &OriginKey| {
            let record = inner.records.get(origin);
            record.is_some_and(|record| record.accounts_at() == Some(provider)) && copy_key(origin) == *copy
        };
        let there = is_there();
        let stray = there && !origins.iter().any(accounted);
        inner.room.strays.set(provider, kind, copy, stray) && !there
    }

    /// All copies of a kind at a provider have been seen. Returns whether some that no known origin accounted for have gone
    /// without a word: then there may be room.
    pub fn copies_known(
        &self,
        provider: &ClusterName,
        kind: &Arc<Kind>,
        is_there: impl Fn(&ObjectKey) -> bool,
    ) -> bool {
        self.lock().room.strays.set_known(provider, kind, is_there)
    }

    /// A provider has left.
    pub fn forget_copies(&self, provider: &ClusterName) {
        self.lock().room.strays.forget(provider);
    }

    /// Copies of a kind at a provider that no known origin accounts for.
    pub fn strays(&self, provider: &ClusterName, kind: &Kind) -> u64 {
        self.lock().room.strays.all(provider, kind)
    }

    /// Whether one more object of the origin's consumer may be placed.
    pub fn has_quota(&self, most: u64, key: &OriginKey) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.occupies);
        inner.room.quotas.objects(&key.cluster) - u64::from(own) < most
    }

    /// Whether an AcceptAPI takes one more object of the origin's consumer.
    pub fn has_share(&self, id: &AcceptId, most: u64, key: &OriginKey) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.counted.as_ref() == Some(id));
        inner.room.quotas.share(id, &key.cluster) - u64::from(own) < most
    }

    /// Whether one more may move.
    pub fn may_move(&self, key: &OriginKey, route: &Route, moves: usize) -> bool {
        let inner = self.lock();
        let place = inner.records.get(key).map(|record| record.place.clone()).unwrap_or_default();
        inner.room.turns.may_move(key, &place, route, moves)
    }

    /// How many origins an AcceptAPI holds.
    pub fn count(&self, id: &AcceptId) -> u64 {
        self.lock().room.count(id)
    }

    /// How many origins are in a state.
    pub fn in_state(&self, state: State) -> i64 {
        self.lock().states.get(&state).copied().unwrap_or_default()
    }

    /// Whom a related object in a provider concerns.
    pub fn interested(&self, interest: &Interest) -> Vec<OriginKey> {
        let interested = self.lock().interests.of(interest);
        interested.iter().map(|key| OriginKey::clone(key)).collect()
    }

    /// Origins by what they are found by, in order.
    fn find(&self, pick: impl FnOnce(&Index) -> Vec<Arc<OriginKey>>) -> Vec<OriginKey> {
        let mut inner = self.lock();
        inner.searches += 1;
        let found = pick(&inner.index);
        drop(inner);
        in_order(found)
    }

    /// All origins.
    pub fn all(&self) -> Vec<OriginKey> {
        let mut inner = self.lock();
        inner.searches += 1;
        let all = inner.records.keys().cloned().collect();
        drop(inner);
        in_order(all)
    }

    /// Origins for which the last decision wanted something done.
    pub fn owed(&self) -> Vec<OriginKey> {
        self.find(|index| index.owed().cloned().collect())
    }

    /// All others.
    pub fn not_owed(&self) -> Vec<OriginKey> {
        let inner = self.lock();
        let others = inner.records.iter().filter(|(_, record)| !record.owed).map(|(key, _)| Arc::clone(key)).collect();
        drop(inner);
        in_order(others)
    }

    /// Origins of a kind.
    pub fn of_kind(&self, kind: &Kind) -> Vec<OriginKey> {
        self.find(|index| index.in_states(Some(kind), |_| true).cloned().collect())
    }

    /// Origins of a consumer cluster, of one kind or of all.
    pub fn of_consumer(&self, consumer: &ClusterName, kind: Option<&Kind>) -> Vec<OriginKey> {
        let is = |key: &&Arc<OriginKey>| kind.is_none_or(|kind| *key.gvk == *kind);
        self.find(|index| index.of_consumer(consumer).filter(is).cloned().collect())
    }

    /// Origins of a consumer cluster that nobody serves.
    pub fn unplaced(&self, consumer: &ClusterName) -> Vec<OriginKey> {
        self.find(|index| index.unplaced(consumer).cloned().collect())
    }

    /// Origins of a kind that wait for room.
    pub fn waiting(&self, kind: &Kind) -> Vec<OriginKey> {
        let waits = |state| matches!(state, State::Waiting | State::NotAccepted | State::Blocked | State::Moving);
        self.find(|index| index.in_states(Some(kind), waits).chain(index.restless(Some(kind))).cloned().collect())
    }

    /// Origins of one kind, or of all, that are served by a provider, or wait for one.
    pub fn concerned(&self, provider: &ClusterName, kind: Option<&Kind>) -> Vec<OriginKey> {
        let waits = |state| {
            matches!(
                state,
                State::Unknown
                    | State::Waiting
                    | State::Blocked
                    | State::NotAccepted
                    | State::Deleting
                    | State::Placing
                    | State::Moving
            )
        };
        let is = |key: &&Arc<OriginKey>| kind.is_none_or(|kind| *key.gvk == *kind);
        self.find(|index| {
            let waiting = index.in_states(kind, waits).chain(index.restless(kind));
            waiting.chain(index.at(provider).filter(is)).cloned().collect()
        })
    }

    /// Origins on their way to another provider.
    pub fn moving(&self) -> Vec<OriginKey> {
        self.find(|index| index.in_states(None, |state| state == State::Moving).cloned().collect())
    }

    /// The same, and those that might set out.
    pub fn moving_or_restless(&self) -> Vec<OriginKey> {
        let moves = |state| state == State::Moving;
        self.find(|index| index.in_states(None, moves).chain(index.restless(None)).cloned().collect())
    }

    /// Providers that origins are assigned to, or on their way to.
    pub fn providers(&self) -> Vec<ClusterName> {
        self.lock().index.providers().cloned().collect()
    }

    /// Origins that are assigned to a provider, or on their way there.
    pub fn at(&self, provider: &ClusterName) -> Vec<OriginKey> {
        self.find(|index| index.at(provider).cloned().collect())
    }

    /// How many there are of what, and where.
    pub fn spread(&self) -> Spread {
        let spread = self.lock().index.spread();
        spread.in_order()
    }

    /// At most so many of those that are such, in order, and whether there are more. They are looked at without the lock:
    /// nobody waits for that longer than it takes to list a few of them.
    pub fn some(&self, most: usize, is_such: impl Fn(&OriginKey) -> bool) -> (Vec<OriginKey>, bool) {
        let mut consumers: Vec<ClusterName> = self.lock().index.consumers().cloned().collect();
        consumers.sort_unstable();
        let mut found: Vec<OriginKey> = Vec::new();
        for consumer in consumers {
            let mut behind: Option<Arc<OriginKey>> = None;
            loop {
                let keys = self.lock().index.row(&consumer, behind.as_ref(), AT_ONCE);
                for key in keys.iter().filter(|key| is_such(key)) {
                    // One more than is wanted tells that there are more.
                    if found.len() == most {
                        return (found, true);
                    }
                    found.push((**key).clone());
                }
                if keys.len() < AT_ONCE {
                    break;
                }
                behind = keys.last().cloned();
            }
        }
        (found, false)
    }

    /// Whether an origin of this namespace is assigned to a provider, or on its way there.
    pub fn is_expected(&self, provider: &ClusterName, namespace: &Arc<str>) -> bool {
        self.lock().index.is_expected(provider, namespace)
    }
}

/// Each once and in order, so that what is looked at first does not depend on how a map holds it.
fn in_order(mut keys: Vec<Arc<OriginKey>>) -> Vec<OriginKey> {
    keys.sort_unstable();
    keys.dedup();
    keys.iter().map(|key| (**key).clone()).collect()
}

#[cfg(test)]
mod tests;
