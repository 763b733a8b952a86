//! `Queue`: which key is worked on next.
//!
//! A key is never worked on twice at once and repeats merge. Every lane (the cluster a key belongs to) gets its turn,
//! so that one tenant's 50,000 dirty objects cost another tenant's single edit one turn, not 50,000. Writes to a cluster
//! take one of its slots; a key that finds none is parked until one is free, and parks in its lane, too.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use tokio::{sync::Notify, time::Instant};

use crate::backoff;

/// What can be queued.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {
    /// Whose turn it takes.
    fn lane(&self) -> &ClusterName;
}

/// How work on a key ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something changes.
    Done,
    /// Look again after this time, without this being a failure.
    After(Duration),
    /// Look again once nobody else waits, or something changes.
    WhenIdle,
    /// It failed: again after a wait that grows with the failures in a row.
    Failed,
    /// The next write is for this cluster, which has no slot free.
    Park(ClusterName),
}

/// Keys of many lanes, handed out lane by lane.
#[derive(Debug)]
struct Lanes<K> {
    turns: VecDeque<ClusterName>,
    keys: HashMap<ClusterName, VecDeque<K>>,
    len: usize,
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self { turns: VecDeque::new(), keys: HashMap::new(), len: 0 }
    }
}

impl<K: Key> Lanes<K> {
    fn push(&mut self, key: K) {
        self.len += 1;
        let lane = key.lane();
        if let Some(keys) = self.keys.get_mut(lane) {
            keys.push_back(key);
            return;
        }
        let lane = lane.clone();
        self.turns.push_back(lane.clone());
        self.keys.insert(lane, VecDeque::from([key]));
    }

    fn pop(&mut self) -> Option<K> {
        let lane = self.turns.pop_front()?;
        let keys = self.keys.get_mut(&lane)?;
        let key = keys.pop_front();
        if keys.is_empty() {
            self.keys.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        self.len -= usize::from(key.is_some());
        key
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a lane or parked since then.
    Waiting(Instant),
    /// To be looked at when nobody else waits, since then.
    Idle(Instant),
    /// Being worked on since then; `dirty` when it was added again meanwhile.
    Running { since: Instant, dirty: bool, patient: bool },
}

struct Slots<K> {
    taken: usize,
    parked: Lanes<K>,
}

struct Inner<K> {
    places: HashMap<K, Place>,
    ready: Lanes<K>,
    /// Keys whose turn comes when nobody else waits. One that has been added meanwhile is in `ready`, too.
    idle: Lanes<K>,
    /// Parked keys whose slot has come free: they go first, and hold that slot.
    handed: VecDeque<(K, ClusterName)>,
    slots: HashMap<ClusterName, Slots<K>>,
    timers: BTreeMap<(Instant, u64), K>,
    timer_of: HashMap<K, (Instant, u64)>,
    timer_count: u64,
    failures: HashMap<K, u32>,
    /// Keys being worked on: in their turn, and from `idle`.
    running: usize,
    patient: usize,
    closed: bool,
    adds: u64,
    retries: u64,
}

/// A key whose turn it is.
pub struct Turn<K: Key> {
    /// The key.
    pub key: K,
    /// The slot that was kept for it, if it was parked.
    pub slot: Option<Slot<K>>,
    /// It has waited until nobody else did; see [`Outcome::WhenIdle`].
    pub patient: bool,
}

/// How many keys that have waited for others are worked on at once.
const PATIENT: usize = 4;

/// After so long a key that waits for others takes its turn among them.
const PATIENCE: Duration = Duration::from_secs(30);

/// Counters of a queue, as controller-runtime's `workqueue_*` metrics have them.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueStats {
    /// Keys added in all.
    pub adds: u64,
    /// Keys that wait, parked ones included.
    pub depth: usize,
    /// Keys that wait for a slot.
    pub parked: usize,
    /// Keys being worked on.
    pub running: usize,
    /// Retries after failures in all.
    pub retries: u64,
    /// Age of the oldest work in progress.
    pub longest_running: Duration,
}

/// A queue of keys with lanes, slots, delays and failure counts.
pub struct Queue<K> {
    inner: Mutex<Inner<K>>,
    changed: Notify,
    slots_per_cluster: usize,
    /// Called with how long a key waited.
    waited: fn(Duration),
}

/// The right to one write at a time to a cluster. Dropping it lets the next in.
pub struct Slot<K: Key> {
    queue: Arc<Queue<K>>,
    cluster: ClusterName,
}

impl<K: Key> Slot<K> {
    /// Which cluster it is for.
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }
}

impl<K: Key> Drop for Slot<K> {
    fn drop(&mut self) {
        self.queue.release(&self.cluster);
    }
}

const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_mins(1);

impl<K: Key> Queue<K> {
    /// An empty queue; `slots_per_cluster` writes go to one cluster at the same time.
    pub fn new(slots_per_cluster: usize, waited: fn(Duration)) -> Arc<Self> {
        let inner = Inner {
            places: HashMap::new(),
            ready: Lanes::default(),
            idle: Lanes::default(),
            handed: VecDeque::new(),
            slots: HashMap::new(),
            timers: BTreeMap::new(),
            timer_of: HashMap::new(),
            timer_count: 0,
            failures: HashMap::new(),
            running: 0,
            patient: 0,
            closed: false,
            adds: 0,
            retries: 0,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            changed: Notify::new(),
            slots_per_cluster: slots_per_cluster.max(1),
            waited,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something about this key changed.
    pub fn add(&self, key: K) {
        let mut inner = self.lock();
        if inner.enqueue(key) {
            drop(inner);
            self.changed.notify_one();
        }
    }

    /// The next key to work on. `None` once the queue is closed.
    pub async fn next(self: &Arc<Self>) -> Option<Turn<K>> {
        loop {
            let changed = self.changed.notified();
            let wake = {
                let mut inner = self.lock();
                if inner.closed {
                    return None;
                }
                let now = Instant::now();
                let wake = inner.fire(now);
                if let Some((key, cluster, since, patient)) = inner.take(now) {
                    drop(inner);
                    (self.waited)(now.saturating_duration_since(since));
                    let slot = cluster.map(|cluster| Slot { queue: Arc::clone(self), cluster });
                    // One notification may stand for many additions.
                    self.changed.notify_one();
                    return Some(Turn { key, slot, patient });
                }
                wake
            };
            match wake {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// A slot for a write to this cluster, unless all are taken or others wait for one already.
    pub fn slot(self: &Arc<Self>, cluster: &ClusterName) -> Option<Slot<K>> {
        let mut inner = self.lock();
        let slots = inner.slots_of(cluster);
        if slots.taken >= self.slots_per_cluster || slots.parked.len > 0 {
            return None;
        }
        slots.taken += 1;
        Some(Slot { queue: Arc::clone(self), cluster: cluster.clone() })
    }

    fn release(&self, cluster: &ClusterName) {
        let mut inner = self.lock();
        let slots = inner.slots_of(cluster);
        if let Some(key) = slots.parked.pop() {
            inner.handed.push_back((key, cluster.clone()));
            drop(inner);
            self.changed.notify_one();
        } else {
            slots.taken = slots.taken.saturating_sub(1);
        }
    }

    /// Work on a key has ended. Returns the wait before the retry, if it failed.
    pub fn finish(&self, key: &K, outcome: Outcome) -> Option<Duration> {
        let mut inner = self.lock();
        let dirty = match inner.places.remove(key) {
            Some(Place::Running { dirty, patient, .. }) => {
                let count = if patient { &mut inner.patient } else { &mut inner.running };
                *count = count.saturating_sub(1);
                dirty
            }
            _ => false,
        };
        let mut wait = None;
        match outcome {
            Outcome::Done => {
                inner.failures.remove(key);
            }
            Outcome::After(delay) => {
                inner.failures.remove(key);
                inner.schedule(key, delay);
            }
            Outcome::WhenIdle => {
                inner.failures.remove(key);
                inner.places.insert(key.clone(), Place::Idle(Instant::now()));
                inner.idle.push(key.clone());
                inner.schedule(key, PATIENCE);
            }
            Outcome::Failed => {
                let count = inner.failures.entry(key.clone()).or_default();
                let delay = backoff::delay(FIRST_RETRY, LAST_RETRY, *count);
                *count = count.saturating_add(1);
                inner.retries += 1;
                inner.schedule(key, delay);
                wait = Some(delay);
            }
            Outcome::Park(cluster) => inner.park(key.clone(), cluster, self.slots_per_cluster),
        }
        if dirty {
            inner.enqueue(key.clone());
        }
        drop(inner);
        self.changed.notify_one();
        wait
    }

    /// How often in a row work on this key has failed.
    pub fn failures(&self, key: &K) -> u32 {
        self.lock().failures.get(key).copied().unwrap_or_default()
    }

    /// No more keys are handed out; those being worked on may finish.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Besides the one who asks, keys are worked on or wait, for their turn or for a slot.
    pub fn is_busy(&self) -> bool {
        let inner = self.lock();
        inner.has_waiting() || inner.running > 1
    }

    /// Nothing waits and nothing is being worked on. Delayed keys do not count.
    pub fn is_idle(&self) -> bool {
        self.lock().places.is_empty()
    }

    /// Counters as of now.
    pub fn stats(&self) -> QueueStats {
        let inner = self.lock();
        let now = Instant::now();
        let running = inner.places.values().filter_map(|place| match place {
            Place::Running { since, .. } => Some(now.saturating_duration_since(*since)),
            Place::Waiting(_) | Place::Idle(_) => None,
        });
        let (running, longest_running) =
            running.fold((0, Duration::ZERO), |(count, longest), age| (count + 1, longest.max(age)));
        QueueStats {
            adds: inner.adds,
            depth: inner.places.len() - running,
            parked: inner.slots.values().map(|slots| slots.parked.len).sum(),
            running,
            retries: inner.retries,
            longest_running,
        }
    }
}

impl<K: Key> Inner<K> {
    fn slots_of(&mut self, cluster: &ClusterName) -> &mut Slots<K> {
        self.slots.entry(cluster.clone()).or_insert_with(|| Slots { taken: 0, parked: Lanes::default() })
    }

    /// Returns whether the key was put into a lane.
    fn enqueue(&mut self, key: K) -> bool {
        self.adds += 1;
        match self.places.get_mut(&key) {
            Some(Place::Waiting(_)) => false,
            Some(place @ Place::Idle(_)) => {
                *place = Place::Waiting(Instant::now());
                self.ready.push(key);
                true
            }
            Some(Place::Running { dirty, .. }) => {
                *dirty = true;
                false
            }
            None => {
                self.places.insert(key.clone(), Place::Waiting(Instant::now()));
                self.ready.push(key);
                true
            }
        }
    }

    fn park(&mut self, key: K, cluster: ClusterName, limit: usize) {
        self.places.insert(key.clone(), Place::Waiting(Instant::now()));
        let slots = self.slots_of(&cluster);
        // A slot may have come free since it was asked for; nobody would wake the key then.
        if slots.taken < limit {
            slots.taken += 1;
            self.handed.push_back((key, cluster));
        } else {
            slots.parked.push(key);
        }
    }

    fn schedule(&mut self, key: &K, delay: Duration) {
        let at = Instant::now() + delay;
        if let Some(held) = self.timer_of.get(key) {
            if held.0 <= at {
                return;
            }
            self.timers.remove(held);
        }
        self.timer_count += 1;
        let timer = (at, self.timer_count);
        self.timers.insert(timer, key.clone());
        self.timer_of.insert(key.clone(), timer);
    }

    fn has_waiting(&self) -> bool {
        self.ready.len > 0 || self.slots.values().any(|slots| slots.parked.len > 0)
    }

    /// A key that has waited for others, if no others wait.
    fn pop_idle(&mut self) -> Option<K> {
        while !self.has_waiting() && self.running == 0 && self.patient < PATIENT {
            let key = self.idle.pop()?;
            if matches!(self.places.get(&key), Some(Place::Idle(_))) {
                return Some(key);
            }
        }
        None
    }

    /// Queues what is due and returns when the next is.
    fn fire(&mut self, now: Instant) -> Option<Instant> {
        while let Some((&timer, _)) = self.timers.first_key_value() {
            if timer.0 > now {
                return Some(timer.0);
            }
            if let Some(key) = self.timers.remove(&timer) {
                self.timer_of.remove(&key);
                self.enqueue(key);
            }
        }
        None
    }

    fn take(&mut self, now: Instant) -> Option<(K, Option<ClusterName>, Instant, bool)> {
        let (key, cluster, patient) = if let Some((key, cluster)) = self.handed.pop_front() {
            (key, Some(cluster), false)
        } else if let Some(key) = self.ready.pop() {
            (key, None, false)
        } else {
            (self.pop_idle()?, None, true)
        };
        *(if patient { &mut self.patient } else { &mut self.running }) += 1;
        // Whatever it was to be looked at for later, it is looked at now.
        if let Some(timer) = self.timer_of.remove(&key) {
            self.timers.remove(&timer);
        }
        let before = self.places.insert(key.clone(), Place::Running { since: now, dirty: false, patient });
        let since = match before {
            Some(Place::Waiting(since) | Place::Idle(since)) => since,
            _ => now,
        };
        Some((key, cluster, since, patient))
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
