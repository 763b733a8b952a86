//! What the broker remembers of origins between decisions. All of it can be lost: a restart finds it again.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use broker_core::{
    acceptance::AcceptId,
    copy,
    decision::{Decision, State},
    memory::OriginMemory,
    movement::{Lane, Moving, Request},
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, kind::Kind};
use runtime_fleet::object::ObjectKey;
use tokio::time::Instant;

use crate::{
    quotas::Quotas,
    strays::Strays,
    turns::{Place, Turns},
};

/// One origin.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of an origin, and any may be so with any")]
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// For the next decision.
    pub memory: OriginMemory,
    /// How it stood after the last decision.
    pub state: State,
    /// Which provider it is assigned to.
    pub provider: Option<ClusterName>,
    /// Which AcceptAPI it counts for.
    pub counted: Option<AcceptId>,
    /// The move that is under way, as of the last decision.
    pub moving: Option<Box<Moving>>,
    /// It should leave its provider and cannot now.
    pub restless: bool,
    /// The last decision wanted something done.
    pub owed: bool,
    /// What it said of Migrations (`namespace/name`) that are not under way.
    pub requests: Vec<(String, Request)>,
    /// Its turn to move.
    place: Place,
    /// It is one of those that its consumer may have so many of.
    occupies: bool,
    interests: Vec<Interest>,
    /// Digests of what was told as Events, and when.
    pub told: HashMap<u64, Instant>,
    /// When it was first seen; taken once its copy is made.
    pub seen_at: Option<Instant>,
    /// Whether it is among the objects that are counted by state.
    listed: bool,
}

/// What became of a decision that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absorbed {
    /// The AcceptAPI that the origin no longer counts for.
    pub freed: Option<AcceptId>,
    /// Its consumer had as many objects as it may have, and has one less now.
    pub relieved: bool,
    /// It listens to related objects that it did not listen to before: they may have changed meanwhile.
    pub listens: bool,
    /// What is to be told to its Migrations has changed.
    pub moved: bool,
    /// Origins whose turn to move has come.
    pub turns: Vec<OriginKey>,
}

/// How much may be under way at once.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Objects that an AcceptAPI which the origin would newly count for holds at the most.
    pub capacity: Option<u64>,
    /// The same of one consumer's objects.
    pub share: Option<u64>,
    /// Objects of one consumer that are placed.
    pub objects: Option<u64>,
    /// Moves between two providers.
    pub moves: usize,
    /// Whether a provider holds the origin's copy now.
    pub holds: &'a dyn Fn(&ClusterName, &ObjectKey) -> bool,
}

/// Where the copy of an origin is at its provider.
pub(crate) fn copy_key(key: &OriginKey) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&key.namespace), name: copy::name(key).into() }
}

/// The provider where an origin's copy is accounted for: it counts for an AcceptAPI there, or is there although none
/// accepts it.
fn accounts_at<'a>(
    counted: Option<&'a AcceptId>,
    state: State,
    provider: Option<&'a ClusterName>,
) -> Option<&'a ClusterName> {
    counted.map(|id| &id.provider).or(provider.filter(|_| state == State::NotAccepted))
}

impl Record {
    fn accounts_at(&self) -> Option<&ClusterName> {
        accounts_at(self.counted.as_ref(), self.state, self.provider.as_ref())
    }

    /// The AcceptAPI that the origin counts for after this decision. One that is only held up keeps its room.
    fn counts_for<'a>(&'a self, decision: &'a Decision) -> Option<&'a AcceptId> {
        let held_up = decision.is_held_up() || matches!(decision.state, State::Deleting | State::NotAccepted);
        decision.counted.as_ref().or(self.counted.as_ref().filter(|_| held_up))
    }

    /// Whether the decision's move has a turn: it is under way, or there is one left.
    fn may_take(&self, key: &OriginKey, decision: &Decision, turns: &Turns, bounds: Bounds<'_>) -> bool {
        let Some(lane) = decision.lane.as_ref().filter(|_| decision.moving.is_some()) else { return true };
        !decision.begins || self.moving.is_some() || turns.may_move(key, &self.place, lane, bounds.moves)
    }

    /// What the origin moves or waits in after this decision.
    fn placed_in(&self, decision: &Decision) -> Place {
        let lane = || decision.lane.clone().map(Box::new);
        let (moves, waits) = match &decision.moving {
            // Others go on meanwhile; when it does so itself, it counts again.
            _ if decision.rests => (None, None),
            Some(_) if decision.lane.is_some() => (lane(), None),
            // Its end is being written: until that is done it moves.
            None if decision.state == State::Moving => (self.place.moves.clone(), None),
            _ if decision.is_held_up() => (self.place.moves.clone(), lane()),
            _ => (None, lane()),
        };
        Place { moves, waits }
    }

    /// Whether a provider serves the origin, or is to, after this decision.
    fn occupies(&self, decision: &Decision) -> bool {
        decision.provider.is_some() || self.occupies && decision.is_held_up()
    }

    /// Takes in whom the origin listens to. Says whether that is somebody new.
    fn listen(&mut self, key: &OriginKey, now: &[Interest], all: &mut HashMap<Interest, HashSet<OriginKey>>) -> bool {
        for gone in self.interests.iter().filter(|interest| !now.contains(interest)) {
            if let Some(origins) = all.get_mut(gone) {
                origins.remove(key);
                if origins.is_empty() {
                    all.remove(gone);
                }
            }
        }
        let mut new = false;
        for interest in now.iter().filter(|interest| !self.interests.contains(interest)) {
            all.entry(interest.clone()).or_default().insert(key.clone());
            new = true;
        }
        if self.interests != now {
            self.interests = now.to_vec();
        }
        new
    }
}

#[derive(Default)]
struct Inner {
    records: HashMap<OriginKey, Record>,
    counts: HashMap<AcceptId, u64>,
    quotas: Quotas,
    states: HashMap<State, i64>,
    interests: HashMap<Interest, HashSet<OriginKey>>,
    turns: Turns,
    strays: Strays,
}

impl Inner {
    /// What is held for an AcceptAPI beside its own origins and this one.
    fn strays(&self, id: &AcceptId, key: &OriginKey) -> u64 {
        self.strays.count(&id.provider, &key.gvk, || copy_key(key))
    }
}

/// All origins.
#[derive(Default)]
pub struct Records(Mutex<Inner>);

impl Records {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of an origin, and whether it was known before how it stands.
    pub fn memory(&self, key: &OriginKey) -> (OriginMemory, bool) {
        let inner = self.lock();
        let Some(record) = inner.records.get(key) else { return (OriginMemory::default(), false) };
        (record.memory.clone(), record.state != State::Unknown)
    }

    /// Which provider an origin is assigned to, as of the last decision.
    pub fn provider(&self, key: &OriginKey) -> Option<ClusterName> {
        self.lock().records.get(key)?.provider.clone()
    }

    /// Reads or changes a record, if there is one: what is gone is not remembered again.
    pub fn with<T>(&self, key: &OriginKey, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.lock().records.get_mut(key).map(change)
    }

    /// Takes in a decision. Forgets origins that are gone. `None`: others have meanwhile taken the last room, or the last
    /// turn to move, and nothing was taken in.
    pub fn absorb(&self, key: &OriginKey, decision: &Decision, bounds: Bounds<'_>) -> Option<Absorbed> {
        let mut inner = self.lock();
        let Inner { records, counts, quotas, states, interests, turns, strays } = &mut *inner;
        let forget = decision.state == State::Gone && decision.steps.is_empty();
        let record = records.entry(key.clone()).or_default();
        let left = record.accounts_at().cloned();
        let counted = record.counts_for(decision).cloned();
        let newly = counted.as_ref().filter(|after| record.counted.as_ref() != Some(*after)).cloned();
        if let (Some(after), Some(capacity)) = (&newly, bounds.capacity)
            && decision.begins
            && counts.get(after).copied().unwrap_or_default()
                + strays.count(&after.provider, &key.gvk, || copy_key(key))
                >= capacity
        {
            return None;
        }
        if decision.begins && !quotas.admits(&key.cluster, newly.as_ref(), !record.occupies, bounds) {
            return None;
        }
        if !record.may_take(key, decision, turns, bounds) {
            return None;
        }
        let place = record.placed_in(decision);
        let turns = turns.take(key, &mut record.place, place, bounds.moves);
        let occupies = record.occupies(decision);
        let relieved = quotas.moved(
            &key.cluster,
            (record.occupies, record.counted.as_ref()),
            (occupies, counted.as_ref()),
            bounds.objects,
        );
        record.occupies = occupies;
        let freed = record.counted.as_ref().filter(|before| Some(*before) != counted.as_ref()).cloned();
        if let Some(count) = freed.as_ref().and_then(|before| counts.get_mut(before)) {
            *count = count.saturating_sub(1);
        }
        // A copy counts for its origin, or else by itself.
        let came = accounts_at(counted.as_ref(), decision.state, decision.provider.as_ref());
        if left.as_ref() != came {
            let copy = copy_key(key);
            if let Some(left) = left.filter(|left| (bounds.holds)(left, &copy)) {
                strays.set(&left, &key.gvk, &copy, true);
            }
            if let Some(came) = came {
                strays.set(came, &key.gvk, &copy, false);
            }
        }
        if let Some(after) = newly {
            *counts.entry(after).or_default() += 1;
        }
        let listens = record.listen(key, &decision.interests, interests);
        if record.listed {
            *states.entry(record.state).or_default() -= 1;
        }
        let moved = record.moving.as_deref() != decision.moving.as_ref() || record.requests != decision.requests;
        if forget {
            records.remove(key);
            return Some(Absorbed { freed, relieved, listens: false, moved, turns });
        }
        if let Some(provider) = &decision.gave_up {
            record.memory.give_up(provider);
        }
        // It has arrived: the next move tries all again.
        if decision.moving.is_none() && record.moving.as_deref().map(|moving| &moving.to) == decision.provider.as_ref()
        {
            record.memory.forget_given_up();
        }
        if let Some(moving) = &decision.moving {
            record.memory.saw_move(moving.epoch, crate::clock::now().millis);
        }
        record.memory.held_since = decision.held_since;
        record.restless = decision.restless;
        record.owed = !decision.steps.is_empty();
        if moved && !decision.is_held_up() {
            record.moving = decision.moving.clone().map(Box::new);
            record.requests.clone_from(&decision.requests);
        }
        if !record.listed {
            record.seen_at = Some(Instant::now());
        }
        record.listed = true;
        let restated = record.state != decision.state;
        *states.entry(decision.state).or_default() += 1;
        record.state = decision.state;
        record.provider.clone_from(&decision.provider);
        record.counted = counted;
        // What a Migration is told depends on the state as well.
        Some(Absorbed { freed, relieved, listens, moved: moved || restated, turns })
    }

    /// Whether an AcceptAPI has room for an origin, which may be counted there already. `None`: not all that its provider
    /// holds has been seen.
    pub fn has_room(&self, id: &AcceptId, capacity: u64, key: &OriginKey) -> Option<bool> {
        let inner = self.lock();
        if !inner.strays.is_known(&id.provider, &key.gvk) {
            return None;
        }
        let own = inner.records.get(key).is_some_and(|record| record.counted.as_ref() == Some(id));
        let placed = inner.counts.get(id).copied().unwrap_or_default() - u64::from(own);
        Some(placed + inner.strays(id, key) < capacity)
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
        inner.strays.set(provider, kind, copy, stray) && !there
    }

    /// All copies of a kind at a provider have been seen.
    pub fn copies_known(&self, provider: &ClusterName, kind: &Arc<Kind>) {
        self.lock().strays.set_known(provider, kind);
    }

    /// A provider has left.
    pub fn forget_copies(&self, provider: &ClusterName) {
        self.lock().strays.forget(provider);
    }

    /// Copies of a kind at a provider that no known origin accounts for.
    pub fn strays(&self, provider: &ClusterName, kind: &Kind) -> u64 {
        self.lock().strays.all(provider, kind)
    }

    /// Whether one more object of the origin's consumer may be placed.
    pub fn has_quota(&self, most: u64, key: &OriginKey) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.occupies);
        inner.quotas.objects(&key.cluster) - u64::from(own) < most
    }

    /// Whether an AcceptAPI takes one more object of the origin's consumer.
    pub fn has_share(&self, id: &AcceptId, most: u64, key: &OriginKey) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.counted.as_ref() == Some(id));
        inner.quotas.share(id, &key.cluster) - u64::from(own) < most
    }

    /// Whether one more may move.
    pub fn may_move(&self, key: &OriginKey, lane: &Lane, moves: usize) -> bool {
        let inner = self.lock();
        let place = inner.records.get(key).map(|record| record.place.clone()).unwrap_or_default();
        inner.turns.may_move(key, &place, lane, moves)
    }

    /// How many origins an AcceptAPI holds.
    pub fn count(&self, id: &AcceptId) -> u64 {
        self.lock().counts.get(id).copied().unwrap_or_default()
    }

    /// How many origins are in a state.
    pub fn in_state(&self, state: State) -> i64 {
        self.lock().states.get(&state).copied().unwrap_or_default()
    }

    /// Whom a related object in a provider concerns.
    pub fn interested(&self, interest: &Interest) -> Vec<OriginKey> {
        self.lock().interests.get(interest).into_iter().flatten().cloned().collect()
    }

    /// Origins that satisfy a test.
    pub fn select(&self, mut test: impl FnMut(&OriginKey, &Record) -> bool) -> Vec<OriginKey> {
        self.lock().records.iter().filter(|(key, record)| test(key, record)).map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use broker_core::movement::Phase;

    use super::*;

    fn key(name: &str) -> OriginKey {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let cluster = ClusterName::consumer("homer");
        OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: name.into() }
    }

    fn lane() -> Lane {
        Lane::Leave { from: ClusterName::provider("one"), to: ClusterName::provider("two") }
    }

    fn moving() -> Decision {
        let (from, to) = (ClusterName::provider("one"), ClusterName::provider("two"));
        let moving = Moving { from, to, epoch: 1, phase: Phase::Copying, waits_for: String::new() };
        Decision { moving: Some(moving), lane: Some(lane()), begins: true, ..Decision::state(State::Moving) }
    }

    fn waiting() -> Decision {
        Decision { lane: Some(lane()), ..Decision::state(State::NotAccepted) }
    }

    fn served() -> Decision {
        Decision::state(State::Served)
    }

    const ONE: Bounds<'static> = Bounds { capacity: None, share: None, objects: None, moves: 1, holds: &|_, _| false };

    #[test]
    fn a_turn_goes_to_who_waits_for_it() {
        let records = Records::default();
        for name in ["a", "b", "c"] {
            records.absorb(&key(name), &served(), ONE).unwrap();
        }
        assert!(records.may_move(&key("a"), &lane(), 1));
        assert!(records.absorb(&key("a"), &moving(), ONE).unwrap().moved);
        assert!(!records.may_move(&key("b"), &lane(), 1) && records.may_move(&key("a"), &lane(), 1));
        assert_eq!(records.absorb(&key("b"), &moving(), ONE), None, "it was decided before a took the turn");
        assert!(records.absorb(&key("b"), &waiting(), ONE).unwrap().turns.is_empty());
        assert!(records.absorb(&key("c"), &waiting(), ONE).unwrap().turns.is_empty());
        let ending = Decision { moving: None, ..moving() };
        assert!(records.absorb(&key("a"), &ending, ONE).unwrap().turns.is_empty(), "its end is not written yet");
        assert_eq!(records.absorb(&key("a"), &served(), ONE).unwrap().turns, [key("b")]);
        // Who does not want it any more passes it on.
        assert_eq!(records.absorb(&key("b"), &served(), ONE).unwrap().turns, [key("c")]);
        assert!(records.absorb(&key("c"), &moving(), ONE).is_some());
        let gone = Decision::state(State::Gone);
        records.absorb(&key("c"), &gone, ONE).unwrap();
        assert!(records.may_move(&key("b"), &lane(), 1));
    }

    #[test]
    fn what_was_under_way_before_a_restart_goes_on_and_counts() {
        let records = Records::default();
        for name in ["a", "b"] {
            let goes_on = Decision { begins: false, ..moving() };
            assert!(records.absorb(&key(name), &goes_on, ONE).is_some());
        }
        assert!(!records.may_move(&key("c"), &lane(), 2));
        // Held up for a moment, it keeps its turn.
        records.absorb(&key("a"), &Decision::state(State::Unknown), ONE).unwrap();
        assert!(!records.may_move(&key("c"), &lane(), 2));
        assert!(records.with(&key("a"), |record| record.moving.is_some()).unwrap());
        // A person has paused it: others go on, and so does it afterwards, whoever moves by then.
        let two = Bounds { moves: 2, ..ONE };
        records.absorb(&key("c"), &waiting(), two).unwrap();
        let paused = Decision { rests: true, ..Decision::state(State::Paused) };
        assert_eq!(records.absorb(&key("a"), &paused, two).unwrap().turns, [key("c")]);
        assert!(records.absorb(&key("c"), &moving(), two).is_some());
        assert!(records.absorb(&key("a"), &moving(), two).is_some(), "it is under way");
        assert!(!records.may_move(&key("d"), &lane(), 2));
    }

    #[test]
    fn a_consumer_has_no_more_than_its_quota() {
        let records = Records::default();
        let id =
            |name: &str| AcceptId { provider: ClusterName::provider("one"), namespace: "n".into(), name: name.into() };
        let placing = |at: &str| Decision {
            provider: Some(ClusterName::provider("one")),
            counted: Some(id(at)),
            begins: true,
            ..Decision::state(State::Placing)
        };
        let two = Bounds { objects: Some(2), share: Some(1), ..ONE };
        assert!(records.absorb(&key("a"), &placing("x"), two).is_some());
        assert!(!records.has_share(&id("x"), 1, &key("b")) && records.has_share(&id("x"), 1, &key("a")));
        assert_eq!(records.absorb(&key("b"), &placing("x"), two), None, "one of each consumer");
        let theirs = OriginKey { cluster: ClusterName::consumer("bart"), ..key("b") };
        assert!(records.absorb(&theirs, &placing("x"), two).is_some(), "another's is another's");
        assert!(records.has_quota(2, &key("b")));
        assert!(records.absorb(&key("b"), &placing("y"), two).is_some());
        assert!(!records.has_quota(2, &key("c")) && records.has_quota(2, &key("b")));
        assert_eq!(records.absorb(&key("c"), &placing("z"), two), None, "two in all");
        // Held up, an object keeps its place; one that goes makes room, and that is told.
        records.absorb(&key("a"), &Decision::state(State::Paused), two).unwrap();
        assert!(!records.has_quota(2, &key("c")));
        assert!(records.absorb(&key("a"), &Decision::state(State::Gone), two).unwrap().relieved);
        assert!(records.absorb(&key("c"), &placing("x"), two).is_some());
        assert!(!records.absorb(&key("b"), &placing("y"), two).unwrap().relieved);
    }
}
