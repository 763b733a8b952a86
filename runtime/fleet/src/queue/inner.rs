//! What a queue holds: where each key is, and which is next. No clock but the one that is handed in.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    time::Duration,
};

use broker_api::ClusterName;
use tokio::time::Instant;

use super::{
    echo::{BeingWritten, Echoes},
    key::Key,
    outcome::Outcome,
};
use crate::{
    backoff,
    hashed::{HashMap, HashSet},
    index::{Change, Index},
    lanes::Lanes,
    slots::Slot,
};

const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// After so long a key that waits for others takes its turn among them.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many keys that have waited for others are worked on at once.
const PATIENT: usize = 4;

/// Room for so many keys is kept when there are none.
const SMALL: usize = 1024;

#[derive(Debug)]
pub(super) enum Place {
    /// In a lane since then.
    Waiting(Instant),
    /// Waiting for a slot since then; whether something has been told of it since it was observed.
    Parked { since: Instant, told: bool },
    /// To be looked at because of somebody else's edits, since then.
    Later(Instant),
    /// To be looked at when nobody else waits, since then.
    Idle(Instant),
    /// Being worked on since then.
    Running { since: Instant, how: How, again: Again, echoes: Echoes },
}

/// Out of which of the queue's parts a key was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    InTurn,
    Later,
    Patient,
}

/// Whether a key was added again while it was being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Again {
    No,
    InTurn,
    Later(ClusterName),
}

/// How a key whose time has come is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    InTurn,
    Idle,
}

pub(super) struct Inner<K> {
    pub(super) places: HashMap<K, Place>,
    pub(super) ready: Lanes<K>,
    /// Keys to look at again because of somebody else's edits, in the lanes of those. A key may be in several, and may
    /// have been worked on meanwhile.
    pub(super) later: Lanes<K>,
    /// What is in `later`.
    pub(super) later_in: HashSet<(ClusterName, K)>,
    /// Keys whose turn comes when nobody else waits. One that has been added meanwhile is in `ready`, too.
    pub(super) idle: Lanes<K>,
    /// Parked keys whose slot has come free: they go first, and hold that slot.
    handed: VecDeque<(K, Slot)>,
    /// How many keys are parked, for all servers.
    pub(super) parked: usize,
    pub(super) timers: BTreeMap<(Instant, u64), (K, When)>,
    pub(super) timer_of: HashMap<K, (Instant, u64)>,
    pub(super) timer_count: u64,
    pub(super) failures: HashMap<K, u32>,
    /// Keys being worked on: in their turn, from `later` and from `idle`.
    pub(super) running: usize,
    pub(super) running_later: usize,
    pub(super) patient: usize,
    /// Since when keys are being worked on, and how many since then.
    started: BTreeMap<Instant, usize>,
    pub(super) closed: bool,
    pub(super) adds: u64,
    pub(super) retries: u64,
}

/// What is handed out.
pub(super) struct Taken<K> {
    pub(super) key: K,
    pub(super) how: How,
    /// Whose turn it takes.
    pub(super) lane: ClusterName,
    /// The slot that was kept for it.
    pub(super) slot: Option<Slot>,
    /// It was parked, and nothing has been told of it since.
    pub(super) untold: bool,
    /// Since when it has waited.
    pub(super) since: Instant,
}

impl<K: Key> Inner<K> {
    /// Empty; `ahead` keys of a lane wait for their first decision at the same time.
    pub(super) fn new(ahead: usize) -> Self {
        Self {
            places: HashMap::default(),
            ready: Lanes::new(ahead),
            later: Lanes::new(ahead),
            later_in: HashSet::default(),
            idle: Lanes::new(usize::MAX),
            handed: VecDeque::new(),
            parked: 0,
            timers: BTreeMap::new(),
            timer_of: HashMap::default(),
            timer_count: 0,
            failures: HashMap::default(),
            running: 0,
            running_later: 0,
            patient: 0,
            started: BTreeMap::new(),
            closed: false,
            adds: 0,
            retries: 0,
        }
    }

    /// Returns whether the key was put into a lane.
    pub(super) fn enqueue(&mut self, key: K) -> bool {
        self.adds += 1;
        match self.places.get_mut(&key) {
            Some(Place::Waiting(_)) => return false,
            Some(Place::Parked { told, .. }) => {
                *told = true;
                return false;
            }
            Some(Place::Running { again, .. }) => {
                *again = Again::InTurn;
                return false;
            }
            Some(place @ (Place::Idle(_) | Place::Later(_))) => *place = Place::Waiting(Instant::now()),
            None => {
                self.places.insert(key.clone(), Place::Waiting(Instant::now()));
            }
        }
        let lane = key.lane().clone();
        self.ready.push(&lane, key);
        true
    }

    /// The same because of what a watch tells: of what is being written for the key the answer tells.
    pub(super) fn enqueue_told(&mut self, key: K, index: &Index, change: &Change) -> bool {
        if let Some(Place::Running { echoes, .. }) = self.places.get_mut(&key)
            && echoes.hear(index, change)
        {
            return false;
        }
        self.enqueue(key)
    }

    /// Something is about to be written for a key that is being worked on.
    pub(super) fn expect(&mut self, key: &K, written: &BeingWritten) {
        if let Some(Place::Running { echoes, .. }) = self.places.get_mut(key) {
            echoes.expect(written.clone());
        }
    }

    /// It is written no more. What watches have told of it meanwhile.
    pub(super) fn written(&mut self, key: &K, written: &BeingWritten) -> Vec<Change> {
        match self.places.get_mut(key) {
            Some(Place::Running { echoes, .. }) => echoes.end(written),
            _ => Vec::new(),
        }
    }

    /// Returns whether the key was put into the lane.
    pub(super) fn enqueue_later(&mut self, key: K, cause: &ClusterName) -> bool {
        self.adds += 1;
        match self.places.get_mut(&key) {
            Some(Place::Waiting(_)) => return false,
            Some(Place::Parked { told, .. }) => {
                *told = true;
                return false;
            }
            Some(Place::Running { again, .. }) => {
                if *again == Again::No {
                    *again = Again::Later(cause.clone());
                }
                return false;
            }
            // Not in that lane yet, perhaps: one cluster's edits must not wait for another's.
            Some(Place::Later(_)) => {}
            Some(place @ Place::Idle(_)) => *place = Place::Later(Instant::now()),
            None => {
                self.places.insert(key.clone(), Place::Later(Instant::now()));
            }
        }
        let new = self.later_in.insert((cause.clone(), key.clone()));
        if new {
            self.later.push(cause, key);
        }
        new
    }

    /// What was told of a key that is being worked on needs no other turn.
    pub(super) fn forget_told(&mut self, key: &K) {
        if let Some(Place::Running { again, .. }) = self.places.get_mut(key) {
            *again = Again::No;
        }
    }

    /// The slot that a parked key waits for is there.
    pub(super) fn hand(&mut self, key: K, slot: Slot) {
        self.parked -= 1;
        self.handed.push_back((key, slot));
    }

    pub(super) fn schedule(&mut self, key: &K, delay: Duration, when: When) {
        let at = Instant::now() + delay;
        if let Some(held) = self.timer_of.get(key) {
            if held.0 <= at {
                return;
            }
            self.timers.remove(held);
        }
        self.timer_count += 1;
        let timer = (at, self.timer_count);
        self.timers.insert(timer, (key.clone(), when));
        self.timer_of.insert(key.clone(), timer);
    }

    /// When the next key is due that waits for a time.
    pub(super) fn first_timer(&self) -> Option<(Instant, u64)> {
        self.timers.first_key_value().map(|(timer, _)| *timer)
    }

    /// Work on a key has ended. Returns the wait before the retry, if it failed.
    pub(super) fn finish(&mut self, key: &K, outcome: &Outcome) -> Option<Duration> {
        let again = match self.places.remove(key) {
            Some(Place::Running { since, how, again, echoes: _ }) => {
                *self.count(how) -= 1;
                if let Entry::Occupied(mut count) = self.started.entry(since) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
                again
            }
            _ => Again::No,
        };
        if !matches!(outcome, Outcome::Failed | Outcome::Park(_)) {
            self.failures.remove(key);
        }
        let mut wait = None;
        match outcome {
            Outcome::Done => {}
            Outcome::After(delay) => self.schedule(key, *delay, When::InTurn),
            Outcome::WhenIdle => self.rest(key.clone()),
            Outcome::IdleAfter(delay) => self.schedule(key, *delay, When::Idle),
            Outcome::Failed => {
                let count = self.failures.entry(key.clone()).or_default();
                let delay = backoff::delay(FIRST_RETRY, LAST_RETRY, *count);
                *count = count.saturating_add(1);
                self.retries += 1;
                self.schedule(key, delay, When::InTurn);
                wait = Some(delay);
            }
            Outcome::Park(_) => {
                self.places.insert(key.clone(), Place::Parked { since: Instant::now(), told: false });
                self.parked += 1;
            }
        }
        match again {
            Again::No => {}
            Again::InTurn => drop(self.enqueue(key.clone())),
            Again::Later(cause) => drop(self.enqueue_later(key.clone(), &cause)),
        }
        if self.places.is_empty() && self.places.capacity() > 2 * SMALL {
            self.give_room_back();
        }
        wait
    }

    /// Of a flood, or a start, that is over.
    fn give_room_back(&mut self) {
        self.places.shrink_to(SMALL);
        self.timer_of.shrink_to(SMALL);
        self.failures.shrink_to(SMALL);
        self.later_in.shrink_to(SMALL);
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.ready.is_empty() || self.parked > 0
    }

    /// How many keys are being worked on.
    pub(super) fn in_work(&self) -> usize {
        self.running + self.running_later + self.patient
    }

    /// Since when the oldest work in progress goes on.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.started.first_key_value().map(|(since, _)| *since)
    }

    /// The key's turn comes when nobody else waits, or after [`PATIENCE`]; a place that it has already is sooner.
    pub(super) fn rest(&mut self, key: K) {
        if !self.places.contains_key(&key) {
            self.places.insert(key.clone(), Place::Idle(Instant::now()));
            self.schedule(&key, PATIENCE, When::InTurn);
            self.idle.push(&key.lane().clone(), key);
        }
    }

    /// A key that has waited for others, if no others wait.
    pub(super) fn pop_idle(&mut self) -> Option<K> {
        while !self.has_waiting() && self.running == 0 && self.patient < PATIENT {
            let key = self.idle.draw()?;
            if matches!(self.places.get(&key), Some(Place::Idle(_))) {
                return Some(key);
            }
        }
        None
    }

    /// Queues what is due and returns when the next is.
    pub(super) fn fire(&mut self, now: Instant) -> Option<Instant> {
        while let Some((&timer, _)) = self.timers.first_key_value() {
            if timer.0 > now {
                return Some(timer.0);
            }
            if let Some((key, when)) = self.timers.remove(&timer) {
                self.timer_of.remove(&key);
                match when {
                    When::InTurn => drop(self.enqueue(key)),
                    When::Idle => self.rest(key),
                }
            }
        }
        None
    }

    /// A key that is to be looked at because of somebody else's edits, and in whose lane it waited.
    pub(super) fn pop_later(&mut self) -> Option<(ClusterName, K)> {
        loop {
            let (cause, key) = self.later.pop()?;
            self.later_in.remove(&(cause.clone(), key.clone()));
            if matches!(self.places.get(&key), Some(Place::Later(_))) {
                return Some((cause, key));
            }
            self.later.end(&cause, Duration::ZERO);
        }
    }

    /// How many keys are being worked on that were handed out like this.
    pub(super) fn count(&mut self, how: How) -> &mut usize {
        match how {
            How::InTurn => &mut self.running,
            How::Later => &mut self.running_later,
            How::Patient => &mut self.patient,
        }
    }

    pub(super) fn take(&mut self, now: Instant) -> Option<Taken<K>> {
        let (how, lane, key, slot) = if let Some((key, slot)) = self.handed.pop_front() {
            self.ready.begin(key.lane());
            (How::InTurn, key.lane().clone(), key, Some(slot))
        } else if let Some((lane, key)) = self.ready.pop() {
            (How::InTurn, lane, key, None)
        } else if let Some(key) = self.pop_idle() {
            self.ready.begin(key.lane());
            (How::Patient, key.lane().clone(), key, None)
        } else {
            let (lane, key) = self.pop_later()?;
            (How::Later, lane, key, None)
        };
        *self.count(how) += 1;
        *self.started.entry(now).or_default() += 1;
        // Whatever it was to be looked at for later, it is looked at now.
        if let Some(timer) = self.timer_of.remove(&key) {
            self.timers.remove(&timer);
        }
        let before = self
            .places
            .insert(key.clone(), Place::Running { since: now, how, again: Again::No, echoes: Echoes::default() });
        let untold = matches!(before, Some(Place::Parked { told: false, .. }));
        let since = match before {
            Some(Place::Waiting(since) | Place::Parked { since, .. } | Place::Later(since) | Place::Idle(since)) => {
                since
            }
            _ => now,
        };
        Some(Taken { key, how, lane, slot, untold, since })
    }
}
