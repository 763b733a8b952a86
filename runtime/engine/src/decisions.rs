//! `Decisions`: the threads on which decisions are made, which are never those that serve sockets, watches, probes and
//! the lease.
//!
//! Whatever takes long without waiting for anybody belongs here: deciding on a key, compiling what
//! strangers write. Jobs stand in lanes, one per cluster that they are done for; the lane that has used least time goes
//! next, and none has all threads, so that another's next job need not wait for the end of a long one. What is only
//! looked at again because of somebody else's edits stands behind all that, and is not starved by it.
//!
//! To wake a thread and to be woken by it costs as much as a short decision. Of what should be short, a job that finds
//! all threads idle is done by whoever brings it ([`Decisions::here`]); not of a lane of which one was not, for a while.
//!
//! A simulator has no threads: [`Decisions::inline`] does the same jobs in the same order as tasks of the one that it has.

use std::{
    fmt::Display,
    io,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use broker_api::ClusterName;
use runtime_cel::processor;
use runtime_fleet::{crash::spawn, hashed::HashMap, lanes::Lanes, lock::lock};
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tracing::warn;

/// A job that takes longer is told of.
const SLOW: Duration = Duration::from_millis(100);

/// No job of a lane is done by its bringer for so long after one of that lane took more processor time than a short one may.
const SHORT: Duration = Duration::from_millis(2);
const APART: Duration = Duration::from_mins(1);

/// So many lanes of that sort are remembered; where there are more, none is done by its bringer.
const LANES: usize = 1024;

/// Between two lines about slow jobs.
const TOLD: Duration = Duration::from_secs(1);

/// After so many jobs in their turn one of those that can wait is done.
const TURNS: usize = 16;

/// When a job is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// When its lane is next.
    InTurn,
    /// When nobody else waits, or now and then.
    Later,
}

type Job = Box<dyn FnOnce() + Send>;

/// The next job, and how it is to be ended.
type Picked = (Urgency, ClusterName, Job);

struct State {
    in_turn: Lanes<Job>,
    later: Lanes<Job>,
    running_later: usize,
    /// Jobs in their turn since the last that could wait.
    turns: usize,
    /// Threads with nothing to do.
    idle: usize,
    /// Jobs that are being done.
    running: usize,
    /// Lanes of which one took more processor time than [`SHORT`], and when.
    long: HashMap<ClusterName, Instant>,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    wanted: Condvar,
    /// Threads that one lane, or all that can wait, may have.
    share: usize,
    /// Without threads: each job that comes begins a task, which does the job whose turn it is.
    inline: bool,
    /// What the thread has used of a processor: the time of day is also that of others, which the machine is busy with.
    /// A simulator's stands still.
    used: fn() -> Duration,
    /// Called for each job that took long.
    slow: fn(),
    told: Mutex<Told>,
}

/// Slow jobs: when a line about them was logged, and how many there were since.
#[derive(Default)]
struct Told {
    last: Option<Instant>,
    unsaid: u64,
}

/// A short job that its bringer does, until this is dropped.
pub struct Here<'a> {
    shared: &'a Shared,
    lane: &'a ClusterName,
    started: Started,
    /// Not for another thread, whose time it does not know.
    stays: PhantomData<*const ()>,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let took = self.shared.took(&self.started);
        let mut state = lock(&self.shared.state);
        state.end(Urgency::InTurn, self.lane, took);
        // A job of this lane that came meanwhile had to wait for its turn.
        let wake = state.wants_another(self.shared.share);
        drop(state);
        if wake {
            self.shared.wanted.notify_one();
        }
        self.shared.tell(self.lane, took.time);
    }
}

/// When a job began, by the clock and by what its thread had used of a processor.
struct Started {
    at: Instant,
    used: Duration,
}

/// What a job took: of the time that others wait, and of a processor.
#[derive(Clone, Copy)]
struct Took {
    time: Duration,
    used: Duration,
}

/// The threads for decisions. They end when it is dropped.
pub struct Decisions {
    shared: Arc<Shared>,
}

impl State {
    fn new(share: usize) -> Self {
        let (in_turn, later) = (Lanes::new(share), Lanes::new(share));
        Self {
            in_turn,
            later,
            running_later: 0,
            turns: 0,
            idle: 0,
            running: 0,
            long: HashMap::default(),
            closed: false,
        }
    }

    fn pick(&mut self, share: usize) -> Option<Picked> {
        let picked = self.next(share)?;
        self.running += 1;
        Some(picked)
    }

    fn next(&mut self, share: usize) -> Option<Picked> {
        let may_later = self.running_later < share;
        let due = self.turns >= TURNS;
        let later = |state: &mut Self| {
            let (lane, job) = state.later.pop()?;
            state.turns = 0;
            state.running_later += 1;
            Some((Urgency::Later, lane, job))
        };
        if may_later
            && due
            && let Some(picked) = later(self)
        {
            return Some(picked);
        }
        if let Some((lane, job)) = self.in_turn.pop() {
            self.turns += 1;
            return Some((Urgency::InTurn, lane, job));
        }
        if may_later { later(self) } else { None }
    }

    /// Whether a thread that has nothing to do would find a job.
    fn wants_another(&self, share: usize) -> bool {
        let may_later = self.running_later < share && self.later.has_next();
        self.idle > 0 && (self.in_turn.has_next() || may_later)
    }

    /// Whether a job of a lane may be done by its bringer.
    fn is_free(&self, lane: &ClusterName) -> bool {
        let was_long = || self.long.get(lane).is_some_and(|since| since.elapsed() < APART) || self.long.len() >= LANES;
        self.running == 0 && self.in_turn.is_empty() && self.later.is_empty() && !was_long()
    }

    fn end(&mut self, urgency: Urgency, lane: &ClusterName, took: Took) {
        self.running -= 1;
        if took.used > SHORT {
            self.long.retain(|_, since| since.elapsed() < APART);
            if self.long.len() < LANES {
                self.long.insert(lane.clone(), Instant::now());
            }
        }
        match urgency {
            Urgency::InTurn => self.in_turn.end(lane, took.time),
            Urgency::Later => {
                self.running_later -= 1;
                self.later.end(lane, took.time);
            }
        }
    }
}

impl Shared {
    fn new(share: usize, inline: bool, slow: fn()) -> Arc<Self> {
        let (state, wanted, told) = (Mutex::new(State::new(share)), Condvar::new(), Mutex::default());
        let used = if inline { || Duration::ZERO } else { processor::time };
        Arc::new(Self { state, wanted, share, inline, used, slow, told })
    }

    fn start(&self) -> Started {
        Started { at: Instant::now(), used: (self.used)() }
    }

    fn took(&self, started: &Started) -> Took {
        Took { time: started.at.elapsed(), used: (self.used)().saturating_sub(started.used) }
    }

    fn push(self: &Arc<Self>, lane: &ClusterName, urgency: Urgency, job: Job) {
        let mut state = lock(&self.state);
        match urgency {
            Urgency::InTurn => state.in_turn.push(lane, job),
            Urgency::Later => state.later.push(lane, job),
        }
        let wake = state.wants_another(self.share);
        drop(state);
        if self.inline {
            let shared = Arc::clone(self);
            spawn(async move { shared.work_once() });
        } else if wake {
            self.wanted.notify_one();
        }
    }

    fn work(&self) {
        let mut state = lock(&self.state);
        while !state.closed {
            if let Some(picked) = state.pick(self.share) {
                state = self.perform(state, picked);
                continue;
            }
            state.idle += 1;
            state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Does the job whose turn it is, if there is one.
    fn work_once(&self) {
        let mut state = lock(&self.state);
        if let Some(picked) = state.pick(self.share) {
            drop(self.perform(state, picked));
        }
    }

    fn perform<'a>(&'a self, state: MutexGuard<'a, State>, picked: Picked) -> MutexGuard<'a, State> {
        let (urgency, lane, job) = picked;
        let wake = state.wants_another(self.share);
        drop(state);
        if wake {
            self.wanted.notify_one();
        }
        let started = self.start();
        // The panic itself is logged by its hook; whoever waits for the answer hears that there is none.
        let _ = catch_unwind(AssertUnwindSafe(job));
        let took = self.took(&started);
        let mut state = lock(&self.state);
        state.end(urgency, &lane, took);
        state
    }

    /// Tells of a job, unless it was quick.
    fn tell(&self, what: &impl Display, took: Duration) {
        if took <= SLOW {
            return;
        }
        (self.slow)();
        let mut told = lock(&self.told);
        if told.last.is_some_and(|last| last.elapsed() < TOLD) {
            told.unsaid += 1;
            return;
        }
        let others = std::mem::take(&mut told.unsaid);
        told.last = Some(Instant::now());
        drop(told);
        warn!(object = %what, ?took, others,
            "a decision took long: its cluster's next one comes later; look at the object, and at what people have written to be evaluated for it");
    }
}

impl Decisions {
    /// Starts as many threads as there are processors, at least two. Jobs run in the runtime of whoever calls this; `slow` is
    /// called for each that took long.
    pub fn start(slow: fn()) -> io::Result<Self> {
        Self::with_threads(thread::available_parallelism().map_or(2, usize::from).max(2), slow)
    }

    /// No threads: jobs are tasks of the runtime that calls, one after the other where that has one thread. A job is done as
    /// a whole, so this is for a simulator only.
    pub fn inline(slow: fn()) -> Self {
        Self { shared: Shared::new(1, true, slow) }
    }

    fn with_threads(threads: usize, slow: fn()) -> io::Result<Self> {
        let decisions = Self { shared: Shared::new(threads - 1, false, slow) };
        for number in 0..threads {
            let (shared, runtime) = (Arc::clone(&decisions.shared), Handle::current());
            thread::Builder::new().name(format!("decide-{number}")).spawn(move || {
                let _runtime = runtime.enter();
                shared.work();
            })?;
        }
        Ok(decisions)
    }

    /// To do a job for a lane on the caller's thread, which others wait for: it should be a short one. `None`: others are at
    /// work, or wait for it, or the lane's are not short, and the job is to wait its turn.
    pub fn here<'a>(&'a self, lane: &'a ClusterName) -> Option<Here<'a>> {
        let mut state = lock(&self.shared.state);
        state.is_free(lane).then(|| {
            state.running += 1;
            state.in_turn.begin(lane);
            Here { shared: &self.shared, lane, started: self.shared.start(), stays: PhantomData }
        })
    }

    /// Does a job for a lane and returns its answer; `None` where it panicked. One that takes long is told of as `what`.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: &ClusterName,
        urgency: Urgency,
        what: &impl Display,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job = move || {
            let started = Instant::now();
            let result = job();
            let _ = answer.send((result, started.elapsed()));
        };
        self.shared.push(lane, urgency, Box::new(job));
        let (result, took) = answered.await.ok()?;
        self.shared.tell(what, took);
        Some(result)
    }

    /// Has a job done for a lane that nobody waits for. One that takes long is told of as `what`.
    pub fn begin(
        &self,
        lane: &ClusterName,
        urgency: Urgency,
        what: impl Display + Send + 'static,
        job: impl FnOnce() + Send + 'static,
    ) {
        let shared = Arc::downgrade(&self.shared);
        let job = move || {
            let started = Instant::now();
            job();
            if let Some(shared) = shared.upgrade() {
                shared.tell(&what, started.elapsed());
            }
        };
        self.shared.push(lane, urgency, Box::new(job));
    }
}

impl Drop for Decisions {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.wanted.notify_all();
    }
}

#[cfg(test)]
#[path = "decisions_tests.rs"]
mod tests;
