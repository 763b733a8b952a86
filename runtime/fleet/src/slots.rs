//! `Slots`: how many writes go to one API server at the same time.
//!
//! One budget for all that is written there: whoever finds no slot waits in its lane, and lanes take turns.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use tokio::sync::oneshot;

use crate::lanes::Lanes;

type Waiter = Box<dyn FnOnce(Slot) + Send>;

struct Inner {
    taken: usize,
    waiting: Lanes<Waiter>,
}

/// The slots of one API server.
pub struct Slots {
    limit: usize,
    inner: Mutex<Inner>,
}

/// The right to one write at a time. Dropping it lets the next in.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Each is the same as itself only.
impl PartialEq for Slots {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Slots {}

impl Slots {
    /// So many writes at the same time, at least one.
    pub fn new(limit: usize) -> Arc<Self> {
        let inner = Inner { taken: 0, waiting: Lanes::new(usize::MAX) };
        Arc::new(Self { limit: limit.max(1), inner: Mutex::new(inner) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// A slot, unless all are taken.
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let mut inner = self.lock();
        // While others wait, all are taken.
        if inner.taken >= self.limit {
            return None;
        }
        inner.taken += 1;
        Some(Slot { slots: Arc::clone(self) })
    }

    /// Calls `then` with a slot as soon as there is one: at once, or from where another is dropped. Must be quick, and must
    /// hold no lock under which slots are dropped.
    pub fn wait(self: &Arc<Self>, lane: &ClusterName, then: impl FnOnce(Slot) + Send + 'static) {
        let mut inner = self.lock();
        // One may have come free since it was asked for; nobody would call then.
        if inner.taken >= self.limit {
            inner.waiting.push(lane, Box::new(then));
            return;
        }
        inner.taken += 1;
        drop(inner);
        then(Slot { slots: Arc::clone(self) });
    }

    /// Waits for a slot in a lane.
    pub async fn acquire(self: &Arc<Self>, lane: &ClusterName) -> Slot {
        loop {
            let (sender, receiver) = oneshot::channel();
            self.wait(lane, move |slot| drop(sender.send(slot)));
            // It is always called.
            if let Ok(slot) = receiver.await {
                return slot;
            }
        }
    }
}

impl Slot {
    /// One more beside it, unless all are taken.
    pub fn another(&self) -> Option<Self> {
        self.slots.take()
    }

    /// Of which it is one.
    pub fn is_of(&self, slots: &Slots) -> bool {
        *self.slots == *slots
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        let next = inner.waiting.draw();
        if next.is_none() {
            inner.taken = inner.taken.saturating_sub(1);
        }
        drop(inner);
        if let Some(next) = next {
            next(Self { slots: Arc::clone(&self.slots) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn name(name: &str) -> ClusterName {
        ClusterName::provider(name)
    }

    #[tokio::test]
    async fn whoever_waits_gets_the_next_slot_lane_by_lane() {
        let slots = Slots::new(1);
        let held = slots.take().unwrap();
        assert!(slots.take().is_none());
        let order = Arc::new(Mutex::new(Vec::new()));
        for (lane, number) in [("flood", 1), ("flood", 2), ("flood", 3), ("single", 4)] {
            let order = Arc::clone(&order);
            slots.wait(&name(lane), move |_slot| order.lock().unwrap().push(number));
        }
        drop(held);
        assert_eq!(*order.lock().unwrap(), [1, 4, 2, 3], "each slot that is dropped lets the next in");
        assert!(slots.take().is_some(), "and then it is free");
    }

    #[tokio::test]
    async fn nobody_overtakes_those_who_wait_and_nothing_is_lost() {
        let slots = Slots::new(2);
        let (one, two) = (slots.take().unwrap(), slots.take().unwrap());
        let (own, waiter) = (Arc::clone(&slots), name("a"));
        let waits = tokio::spawn(async move { own.acquire(&waiter).await });
        tokio::task::yield_now().await;
        drop(one);
        let third = waits.await.unwrap();
        assert!(slots.take().is_none());
        // One who gave up waiting loses no slot.
        let own = Arc::clone(&slots);
        let gone = tokio::spawn(async move { own.acquire(&name("a")).await });
        tokio::task::yield_now().await;
        gone.abort();
        let _ = gone.await;
        drop((two, third));
        let now = AtomicUsize::new(0);
        while let Some(slot) = slots.take() {
            std::mem::forget(slot);
            now.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(now.into_inner(), 2);
    }

    #[test]
    fn who_asks_when_one_has_come_free_has_it_at_once() {
        let slots = Slots::new(1);
        let called = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&called);
        slots.wait(&name("a"), move |_slot| _ = count.fetch_add(1, Ordering::Relaxed));
        assert_eq!(called.load(Ordering::Relaxed), 1);
        assert!(slots.take().is_some());
    }
}
