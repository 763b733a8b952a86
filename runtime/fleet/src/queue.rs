//! `Queue`: which key is worked on next.
//!
//! A key is never worked on twice at once and repeats merge. Every lane (the cluster a key belongs to) gets its turn,
//! so that one tenant's 50,000 dirty objects cost another tenant's single edit one turn, not 50,000; and only a few keys of
//! a lane wait for their first decision at the same time, so that whoever makes the decisions can be fair between lanes by
//! what they cost. Keys that are only looked at again because of somebody else's edits wait apart, in a lane of that
//! somebody. Writes take one of the [`Slots`](crate::slots::Slots) of their server; a key that finds none is parked until
//! one is free, and parks in its lane, too. What a watch tells of a write before its answer comes may be no news
//! ([`Queue::add_told`]).

mod echo;
mod inner;
mod key;
mod outcome;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use tokio::{
    sync::{Notify, futures::Notified},
    time::Instant,
};

use self::inner::{How, Inner, Taken};
pub use self::{
    echo::BeingWritten,
    key::{InCluster, Key},
    outcome::Outcome,
};
use crate::{
    index::{Change, Index},
    random,
    slots::Slot,
};

/// A key whose turn it is.
pub struct Turn<K: Key> {
    /// The key.
    pub key: K,
    /// How long it waited.
    pub waited: Duration,
    /// The slot that was kept for it, if it was parked.
    pub slot: Option<Slot>,
    /// It was parked, and nothing has been told of it since it was observed.
    pub untold: bool,
    /// It has waited until nobody else did; see [`Outcome::WhenIdle`].
    pub patient: bool,
    /// No other waits for its turn.
    pub alone: bool,
    /// It is only looked at again because of this cluster's edits; see [`Queue::add_later`].
    pub cause: Option<ClusterName>,
    /// To be dropped once the first decision is made: until then the key is one of the few of its lane.
    pub start: Start<K>,
}

/// A key waits for its first decision. Dropping it lets the lane's next key out.
pub struct Start<K: Key> {
    queue: Arc<Queue<K>>,
    /// Until it is ended.
    lane: Option<ClusterName>,
    later: bool,
}

impl<K: Key> Start<K> {
    fn end(&mut self, inner: &mut Inner<K>) {
        let lanes = if self.later { &mut inner.later } else { &mut inner.ready };
        if let Some(lane) = self.lane.take() {
            lanes.end(&lane, Duration::ZERO);
        }
    }
}

impl<K: Key> Drop for Start<K> {
    fn drop(&mut self) {
        if self.lane.is_some() {
            let queue = Arc::clone(&self.queue);
            self.end(&mut queue.lock());
            queue.changed.notify_one();
        }
    }
}

/// A write that is under way for a key. Dropped without an answer, whatever was told meanwhile is news.
pub struct Writing<K: Key> {
    queue: Arc<Queue<K>>,
    key: K,
    written: BeingWritten,
    version: Option<u64>,
}

impl<K: Key> Writing<K> {
    /// The write has made this version of the object, and the index knows it.
    pub fn answered(mut self, version: u64) {
        self.version = Some(version);
    }
}

impl<K: Key> Drop for Writing<K> {
    fn drop(&mut self) {
        let told = self.queue.lock().written(&self.key, &self.written);
        if told.iter().any(|change| self.written.is_news(change, self.version)) {
            self.queue.add(self.key.clone());
        }
    }
}

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

/// A queue of keys with lanes, delays and failure counts.
pub struct Queue<K> {
    inner: Mutex<Inner<K>>,
    changed: Notify,
    idle: Notify,
}

/// How many keys of one lane may be ahead of the others': as many as there are threads to decide on, and as many to keep
/// those busy. A seed tells one story on every machine.
fn ahead() -> usize {
    let threads = || std::thread::available_parallelism().map_or(2, usize::from);
    2 * if random::is_seeded() { 2 } else { threads() }
}

impl<K: Key> Default for Queue<K> {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner::new(ahead())), changed: Notify::new(), idle: Notify::new() }
    }
}

impl<K: Key> Queue<K> {
    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something about this key changed.
    pub fn add(&self, key: K) {
        self.put(|inner| inner.enqueue(key));
    }

    /// Whoever takes keys hears of one that was put into a lane.
    fn put(&self, enqueue: impl FnOnce(&mut Inner<K>) -> bool) {
        let is_in_a_lane = enqueue(&mut self.lock());
        if is_in_a_lane {
            self.changed.notify_one();
        }
    }

    /// Somebody else's edits concern this key: it is looked at again in the lane of that cluster. A key that waits for its
    /// turn already is looked at then.
    pub fn add_later(&self, key: K, cause: &ClusterName) {
        self.put(|inner| inner.enqueue_later(key, cause));
    }

    /// For a key that is being worked on something is about to be written.
    pub fn writing(self: &Arc<Self>, key: &K, written: BeingWritten) -> Writing<K> {
        self.lock().expect(key, &written);
        Writing { queue: Arc::clone(self), key: key.clone(), written, version: None }
    }

    /// An object that concerns this key has changed, as its watch tells. While that object is written for the key, the answer
    /// tells whether it is news.
    pub fn add_told(&self, key: K, index: &Index, change: &Change) {
        self.put(|inner| inner.enqueue_told(key, index, change));
    }

    /// A key that is being worked on is about to be observed: that sees what has been told of it until now.
    pub fn observing(&self, key: &K) {
        self.lock().forget_told(key);
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
                if let Some(taken) = inner.take(now) {
                    let alone = !inner.has_waiting();
                    drop(inner);
                    // One notification may stand for many additions.
                    self.changed.notify_one();
                    return Some(Turn { alone, ..self.turn(taken, now) });
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

    fn turn(self: &Arc<Self>, taken: Taken<K>, now: Instant) -> Turn<K> {
        let Taken { key, how, lane, slot, untold, since } = taken;
        let waited = now.saturating_duration_since(since);
        let later = how == How::Later;
        let start = Start { queue: Arc::clone(self), lane: Some(lane.clone()), later };
        let (patient, cause) = (how == How::Patient, later.then_some(lane));
        Turn { key, waited, slot, untold, patient, alone: false, cause, start }
    }

    /// Work on a key has ended. Returns the wait before the retry, if it failed.
    pub fn finish(self: &Arc<Self>, key: &K, outcome: Outcome) -> Option<Duration> {
        let mut inner = self.lock();
        let wait = inner.finish(key, &outcome);
        let idle = inner.places.is_empty();
        drop(inner);
        self.changed.notify_one();
        self.tell(idle);
        self.park(key, outcome);
        wait
    }

    fn tell(&self, idle: bool) {
        if idle {
            self.idle.notify_waiters();
        }
    }

    /// A key that needs a slot is handed out once there is one.
    fn park(self: &Arc<Self>, key: &K, outcome: Outcome) {
        let Outcome::Park(slots) = outcome else { return };
        let (queue, parked) = (Arc::clone(self), key.clone());
        slots.wait(key.lane(), move |slot| {
            queue.lock().hand(parked, slot);
            queue.changed.notify_one();
        });
    }

    /// Work on a key has ended with its first decision, and whoever made that takes what is next at once: nobody needs to
    /// be woken for it. Returns the wait before the retry, if it failed, and all that may be worked on now.
    pub fn finish_and_take(
        self: &Arc<Self>,
        key: &K,
        outcome: Outcome,
        mut start: Start<K>,
    ) -> (Option<Duration>, Vec<Turn<K>>) {
        let now = Instant::now();
        let mut inner = self.lock();
        let timer = inner.first_timer();
        start.end(&mut inner);
        let wait = inner.finish(key, &outcome);
        let mut taken = Vec::new();
        while !inner.closed
            && let Some(next) = inner.take(now)
        {
            taken.push(next);
        }
        let sooner = inner.first_timer().is_some_and(|first| timer.is_none_or(|before| first < before));
        let idle = inner.places.is_empty();
        drop(inner);
        self.tell(idle);
        self.park(key, outcome);
        if sooner {
            self.changed.notify_one();
        }
        (wait, taken.into_iter().map(|taken| self.turn(taken, now)).collect())
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

    /// Besides the one who asks, keys are worked on or wait, for their turn or for a slot. Those that are looked at because
    /// of somebody else's edits do not count.
    pub fn is_busy(&self) -> bool {
        let inner = self.lock();
        inner.has_waiting() || inner.running > 1
    }

    /// Nothing waits and nothing is being worked on. Delayed keys do not count.
    pub fn is_idle(&self) -> bool {
        self.lock().places.is_empty()
    }

    /// Comes to its end when that is next so. Whoever does not want to miss it asks for this before [`Queue::is_idle`].
    pub fn idled(&self) -> Notified<'_> {
        self.idle.notified()
    }

    /// Counters as of now. They are kept, not counted: asking costs the same however many keys there are.
    pub fn stats(&self) -> QueueStats {
        let inner = self.lock();
        let running = inner.in_work();
        QueueStats {
            adds: inner.adds,
            depth: inner.places.len() - running,
            parked: inner.parked,
            running,
            retries: inner.retries,
            longest_running: inner.oldest().map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "queue/echo_tests.rs"]
mod echo_tests;
