//! What the broker remembers of origins between decisions. All of it can be lost: a restart finds it again.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use broker_api::ClusterName;
use broker_core::{
    acceptance::AcceptId,
    copy,
    decision::{Decision, Interest, State},
    memory::Memory,
    movement::{Lane, Moving, Request},
    snapshot::{Kind, OriginKey},
};
use broker_fleet::object::ObjectKey;

use crate::strays::Strays;

/// One origin.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// For the next decision.
    pub memory: Memory,
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
    /// What it counts for while it moves.
    lane: Option<Box<Lane>>,
    /// What it waits for a turn in.
    queues: Option<Box<Lane>>,
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
    /// Moves between two providers.
    pub moves: usize,
    /// Whether a provider holds the origin's copy now.
    pub holds: &'a dyn Fn(&ClusterName, &ObjectKey) -> bool,
}

/// Where the copy of an origin is at its provider.
pub(crate) fn copy_key(key: &OriginKey) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&key.namespace), name: copy::name(key).into() }
}

/// Objects that move at once to a provider that asks for its share.
const REBALANCED: usize = 5;

impl Bounds<'_> {
    fn of(self, lane: &Lane) -> usize {
        match lane {
            Lane::Leave { .. } => self.moves,
            Lane::Rebalance { .. } => REBALANCED,
        }
    }
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

    /// Whether the decision's move has a turn: it has one already, or there is one left.
    fn may_take(&self, decision: &Decision, lanes: &HashMap<Lane, LaneState>, bounds: Bounds<'_>) -> bool {
        let Some(lane) = decision.lane.as_ref().filter(|_| decision.moving.is_some()) else { return true };
        !decision.begins || self.lane.is_some() || lanes.get(lane).is_none_or(|held| held.taken < bounds.of(lane))
    }

    /// Counts the move, or notes that it waits for a turn. Returns whose turns have come.
    fn take_lane(
        &mut self,
        key: &OriginKey,
        decision: &Decision,
        lanes: &mut HashMap<Lane, LaneState>,
        bounds: Bounds<'_>,
    ) -> Vec<OriginKey> {
        let (lane, queues) = match (&decision.lane, &decision.moving) {
            (Some(lane), Some(_)) => (Some(Box::new(lane.clone())), None),
            // Its end is being written: until that is done it moves.
            (_, None) if decision.state == State::Moving => (self.lane.clone(), None),
            (lane, _) if decision.is_held_up() => (self.lane.clone(), lane.clone().map(Box::new)),
            (lane, _) => (None, lane.clone().map(Box::new)),
        };
        let mut touched: Vec<Lane> = Vec::new();
        if lane != self.lane {
            if let Some(before) = std::mem::replace(&mut self.lane, lane.clone()) {
                let held = lanes.entry((*before).clone()).or_default();
                held.taken = held.taken.saturating_sub(1);
                touched.push(*before);
            }
            if let Some(after) = lane {
                lanes.entry(*after).or_default().taken += 1;
            }
        }
        if queues != self.queues
            && let Some(before) = std::mem::replace(&mut self.queues, queues.clone())
        {
            lanes.entry((*before).clone()).or_default().waiting.remove(key);
            touched.push(*before);
        }
        if let Some(after) = queues {
            lanes.entry((*after).clone()).or_default().waiting.insert(key.clone());
            // A turn may have come free since it was decided that there is none.
            touched.push(*after);
        }
        let mut turns = Vec::new();
        for lane in touched {
            let Some(held) = lanes.get_mut(&lane) else { continue };
            let free = bounds.of(&lane).saturating_sub(held.taken);
            // Whoever does not want its turn any more passes it on when it is looked at.
            turns.extend(std::iter::from_fn(|| held.waiting.pop_first()).take(free));
            if held.taken == 0 && held.waiting.is_empty() {
                lanes.remove(&lane);
            }
        }
        turns
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
    states: HashMap<State, i64>,
    interests: HashMap<Interest, HashSet<OriginKey>>,
    /// How many moves count for a lane, and who waits for a turn in it.
    lanes: HashMap<Lane, LaneState>,
    strays: Strays,
}

impl Inner {
    /// What is held for an AcceptAPI beside its own origins and this one.
    fn strays(&self, id: &AcceptId, key: &OriginKey) -> u64 {
        self.strays.count(&id.provider, &key.gvk, || copy_key(key))
    }
}

#[derive(Default)]
struct LaneState {
    taken: usize,
    waiting: BTreeSet<OriginKey>,
}

/// All origins.
#[derive(Default)]
pub struct Records(Mutex<Inner>);

impl Records {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of an origin, and whether it was known before how it stands.
    pub fn memory(&self, key: &OriginKey) -> (Memory, bool) {
        let inner = self.lock();
        let Some(record) = inner.records.get(key) else { return (Memory::default(), false) };
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
        let Inner { records, counts, states, interests, lanes, strays } = &mut *inner;
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
        if !record.may_take(decision, lanes, bounds) {
            return None;
        }
        let turns = record.take_lane(key, decision, lanes, bounds);
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
            return Some(Absorbed { freed, listens: false, moved, turns });
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
        Some(Absorbed { freed, listens, moved: moved || restated, turns })
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

    /// Whether one more may move.
    pub fn may_move(&self, key: &OriginKey, lane: &Lane, moves: usize) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.lane.as_deref() == Some(lane));
        let taken = inner.lanes.get(lane).map_or(0, |held| held.taken);
        taken - usize::from(own) < Bounds { capacity: None, moves, holds: &|_, _| false }.of(lane)
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

    const ONE: Bounds<'static> = Bounds { capacity: None, moves: 1, holds: &|_, _| false };

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
    fn a_turn_that_came_free_meanwhile_is_taken() {
        let records = Records::default();
        records.absorb(&key("a"), &served(), ONE).unwrap();
        assert_eq!(records.absorb(&key("a"), &waiting(), ONE).unwrap().turns, [key("a")]);
    }

    #[test]
    fn what_was_under_way_before_a_restart_goes_on_and_counts() {
        let records = Records::default();
        for name in ["a", "b"] {
            let goes_on = Decision { begins: false, ..moving() };
            assert!(records.absorb(&key(name), &goes_on, ONE).is_some());
        }
        assert!(!records.may_move(&key("c"), &lane(), 2));
        // Held up, it keeps its turn.
        records.absorb(&key("a"), &Decision::state(State::Paused), ONE).unwrap();
        assert!(!records.may_move(&key("c"), &lane(), 2));
        assert!(records.with(&key("a"), |record| record.moving.is_some()).unwrap());
    }
}
