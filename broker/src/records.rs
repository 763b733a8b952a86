//! What the broker remembers of origins between decisions. All of it can be lost: a restart finds it again.

use std::{
    collections::HashMap,
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

#[derive(Default)]
struct Inner {
    records: HashMap<OriginKey, Record>,
    counts: HashMap<AcceptId, u64>,
    states: HashMap<State, i64>,
    interests: HashMap<Interest, OriginKey>,
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

    /// Takes in a decision. Forgets origins that are gone.
    pub fn absorb(&self, key: &OriginKey, decision: &Decision) {
        let mut inner = self.lock();
        let Inner { records, counts, states, interests } = &mut *inner;
        let forget = decision.state == State::Gone && decision.steps.is_empty();
        let record = records.entry(key.clone()).or_default();
        if let Some(before) = record.counted.as_ref().filter(|before| Some(*before) != decision.counted.as_ref())
            && let Some(count) = counts.get_mut(before)
        {
            *count = count.saturating_sub(1);
        }
        if let Some(after) = decision.counted.as_ref().filter(|after| record.counted.as_ref() != Some(*after)) {
            *counts.entry(after.clone()).or_default() += 1;
        }
        for gone in record.interests.iter().filter(|interest| !decision.interests.contains(interest)) {
            interests.remove(gone);
        }
        for interest in &decision.interests {
            interests.entry(interest.clone()).or_insert_with(|| key.clone());
        }
        if record.listed {
            *states.entry(record.state).or_default() -= 1;
        }
        if forget {
            records.remove(key);
            return;
        }
        if !record.listed {
            record.seen_at = Some(Instant::now());
        }
        record.listed = true;
        *states.entry(decision.state).or_default() += 1;
        record.state = decision.state;
        record.provider.clone_from(&decision.provider);
        record.counted.clone_from(&decision.counted);
        record.interests.clone_from(&decision.interests);
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
    pub fn interested(&self, interest: &Interest) -> Option<OriginKey> {
        self.lock().interests.get(interest).cloned()
    }

    /// Origins that satisfy a test.
    pub fn select(&self, mut test: impl FnMut(&OriginKey, &Record) -> bool) -> Vec<OriginKey> {
        self.lock().records.iter().filter(|(key, record)| test(key, record)).map(|(key, _)| key.clone()).collect()
    }
}
