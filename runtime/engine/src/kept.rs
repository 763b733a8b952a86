//! `Kept`: plans of keys that wait for a slot.
//!
//! A key that finds no slot for a write waits for one in its lane. Where nothing is told of it meanwhile its plan is as
//! good as the one that would be made then, and that is saved. Deletes are decided on again even so: what they rest on may have
//! become unknown, of which keys are not told.

use std::{
    mem::size_of,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use runtime_effect::{
    interest::Interest,
    step::Step,
    write::{Op, Write},
};
use runtime_fleet::hashed::HashMap;
use tokio::time::Instant;

use crate::machine::{Machine, Plan};

/// A plan of so long ago is made again all the same: not everything that decisions look at tells of itself.
const STALE: Duration = Duration::from_secs(10);

/// What is kept of one machine at the most, about, in bytes. Who finds no room decides again.
const ROOM: usize = 16 << 20;

/// What a plan takes beside its writes and its interests.
const PLAN: usize = 512;

/// A plan, as it was drawn up.
pub(crate) struct Drawn<S> {
    pub(crate) plan: Plan<S>,
    /// When the decision began, in which term, and how many bodies had been read then.
    pub(crate) began: Instant,
    pub(crate) term: u64,
    pub(crate) bodies: u64,
}

struct Waits<S> {
    drawn: Drawn<S>,
    size: usize,
}

struct Inner<M: Machine> {
    plans: HashMap<M::Key, Waits<M::Subject>>,
    size: usize,
}

/// See the module.
pub(crate) struct Kept<M: Machine>(Mutex<Inner<M>>);

impl<M: Machine> Default for Kept<M> {
    fn default() -> Self {
        Self(Mutex::new(Inner { plans: HashMap::default(), size: 0 }))
    }
}

fn size<S>(plan: &Plan<S>) -> usize {
    let writes: usize = plan.steps.iter().flat_map(Step::writes).map(Write::size).sum();
    PLAN + writes + plan.interests.len() * size_of::<Interest>()
}

fn deletes<S>(plan: &Plan<S>) -> bool {
    plan.steps.iter().flat_map(Step::writes).any(|write| matches!(write.op, Op::Delete { .. }))
}

impl<M: Machine> Kept<M> {
    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the plan of a key that is about to wait, if it may be and there is room.
    pub(crate) fn put(&self, key: &M::Key, drawn: Drawn<M::Subject>) {
        if deletes(&drawn.plan) {
            return;
        }
        let size = size(&drawn.plan);
        let mut inner = self.lock();
        if inner.size + size <= ROOM {
            inner.size += size;
            inner.plans.insert(key.clone(), Waits { drawn, size });
        }
    }

    /// The plan of a key whose slot is there. `None`: it is to be made again, as where something has been told meanwhile.
    pub(crate) fn take(&self, key: &M::Key, untold: bool) -> Option<Drawn<M::Subject>> {
        let mut inner = self.lock();
        let Waits { drawn, size } = inner.plans.remove(key)?;
        inner.size -= size;
        (untold && drawn.began.elapsed() < STALE).then_some(drawn)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.lock();
        inner.plans.is_empty() && inner.size == 0
    }
}
