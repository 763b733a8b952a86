//! What the broker remembers of origins between decisions. All of it can be lost: a restart finds it again.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use broker_api::ClusterName;
use broker_core::{
    acceptance::AcceptId,
    decision::{Decision, Interest, State},
    memory::Memory,
    snapshot::OriginKey,
};

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
}

impl Record {
    /// The AcceptAPI that the origin counts for after this decision. One that is only held up keeps its room.
    fn counts_for<'a>(&'a self, decision: &'a Decision) -> Option<&'a AcceptId> {
        let held_up = matches!(
            decision.state,
            State::Unknown | State::Paused | State::Ignored | State::Blocked | State::Deleting | State::NotAccepted
        );
        decision.counted.as_ref().or(self.counted.as_ref().filter(|_| held_up))
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

    /// Whether anything is remembered of an origin.
    pub fn knows(&self, key: &OriginKey) -> bool {
        self.lock().records.contains_key(key)
    }

    /// Reads or changes a record, if there is one: what is gone is not remembered again.
    pub fn with<T>(&self, key: &OriginKey, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.lock().records.get_mut(key).map(change)
    }

    /// Takes in a decision. Forgets origins that are gone. `capacity` is that of the AcceptAPI that the origin would
    /// newly count for; `None`: others have meanwhile taken the last room there, and nothing was taken in.
    pub fn absorb(&self, key: &OriginKey, decision: &Decision, capacity: Option<u64>) -> Option<Absorbed> {
        let mut inner = self.lock();
        let Inner { records, counts, states, interests } = &mut *inner;
        let forget = decision.state == State::Gone && decision.steps.is_empty();
        let record = records.entry(key.clone()).or_default();
        let counted = record.counts_for(decision);
        let newly = counted.filter(|after| record.counted.as_ref() != Some(*after)).cloned();
        if let (Some(after), Some(capacity)) = (&newly, capacity)
            && counts.get(after).copied().unwrap_or_default() >= capacity
        {
            return None;
        }
        let freed = record.counted.as_ref().filter(|before| Some(*before) != counted).cloned();
        let counted = counted.cloned();
        if let Some(count) = freed.as_ref().and_then(|before| counts.get_mut(before)) {
            *count = count.saturating_sub(1);
        }
        if let Some(after) = newly {
            *counts.entry(after).or_default() += 1;
        }
        let listens = record.listen(key, &decision.interests, interests);
        if record.listed {
            *states.entry(record.state).or_default() -= 1;
        }
        if forget {
            records.remove(key);
            return Some(Absorbed { freed, listens: false });
        }
        if !record.listed {
            record.seen_at = Some(Instant::now());
        }
        record.listed = true;
        *states.entry(decision.state).or_default() += 1;
        record.state = decision.state;
        record.provider.clone_from(&decision.provider);
        record.counted = counted;
        Some(Absorbed { freed, listens })
    }

    /// Whether an AcceptAPI has room for an origin, which may be counted there already.
    pub fn has_room(&self, id: &AcceptId, capacity: u64, key: &OriginKey) -> bool {
        let inner = self.lock();
        let own = inner.records.get(key).is_some_and(|record| record.counted.as_ref() == Some(id));
        inner.counts.get(id).copied().unwrap_or_default() - u64::from(own) < capacity
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
