//! `Decisions`: the threads on which decisions are made, which are never those that serve sockets, watches, probes and
//! the lease.
//!
//! Whatever takes long without waiting for anybody belongs here: deciding on a key, compiling what
//! strangers write. Jobs stand in lanes, one per cluster that they are done for; the lane that has used least time goes
//! next, and none has all threads, so that another's next job need not wait for the end of a long one. What is only
//! looked at again because of somebody else's edits stands behind all that, and is not starved by it.
//!
//! To wake a thread and to be woken by it costs as much as a short decision. Of what is known to be short, a job that finds
//! all threads idle is done by whoever brings it ([`Decisions::here`]).
//!
//! A simulator has no threads: [`Decisions::inline`] does the same jobs in the same order as tasks of the one that it has.

use std::{
    fmt::Display,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use broker_api::ClusterName;
use runtime_fleet::{crash::spawn, lanes::Lanes, lock::lock};
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tracing::warn;

/// A job that takes longer is told of.
const SLOW: Duration = Duration::from_millis(100);

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
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    wanted: Condvar,
    /// Threads that one lane, or all that can wait, may have.
    share: usize,
    /// Without threads: each job that comes begins a task, which does the job whose turn it is.
    inline: bool,
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
    started: Instant,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        lock(&self.shared.state).end(Urgency::InTurn, self.lane, took);
        // What came meanwhile had a thread to itself.
        self.shared.tell(self.lane, took);
    }
}

/// The threads for decisions. They end when it is dropped.
pub struct Decisions {
    shared: Arc<Shared>,
}

impl State {
    fn new(share: usize) -> Self {
        let (in_turn, later) = (Lanes::new(share), Lanes::new(share));
        Self { in_turn, later, running_later: 0, turns: 0, idle: 0, running: 0, closed: false }
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

    fn end(&mut self, urgency: Urgency, lane: &ClusterName, took: Duration) {
        self.running -= 1;
        match urgency {
            Urgency::InTurn => self.in_turn.end(lane, took),
            Urgency::Later => {
                self.running_later -= 1;
                self.later.end(lane, took);
            }
        }
    }
}

impl Shared {
    fn new(share: usize, inline: bool, slow: fn()) -> Arc<Self> {
        let (state, wanted, told) = (Mutex::new(State::new(share)), Condvar::new(), Mutex::default());
        Arc::new(Self { state, wanted, share, inline, slow, told })
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
        let started = Instant::now();
        // The panic itself is logged by its hook; whoever waits for the answer hears that there is none.
        let _ = catch_unwind(AssertUnwindSafe(job));
        let took = started.elapsed();
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

    /// To do a job for a lane on the caller's thread, which others wait for: it has to be a short one. `None`: others are at
    /// work, or wait for it, and the job is to wait its turn.
    pub fn here<'a>(&'a self, lane: &'a ClusterName) -> Option<Here<'a>> {
        let mut state = lock(&self.shared.state);
        let is_free = state.running == 0 && state.in_turn.is_empty() && state.later.is_empty();
        is_free.then(|| {
            state.running += 1;
            state.in_turn.begin(lane);
            Here { shared: &self.shared, lane, started: Instant::now() }
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
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn lane(name: &str) -> ClusterName {
        ClusterName::consumer(name)
    }

    /// Begins a job that lasts until the returned sender is dropped.
    fn hold(decisions: &Arc<Decisions>, name: &str, urgency: Urgency) -> mpsc::Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (decisions, lane) = (Arc::clone(decisions), lane(name));
        tokio::spawn(async move {
            decisions.run(&lane, urgency, &"held", move || released.recv_timeout(LIMIT)).await;
        });
        release
    }

    async fn run(decisions: &Decisions, name: &str) -> Option<String> {
        let thread = || thread::current().name().unwrap_or_default().to_owned();
        tokio::time::timeout(LIMIT, decisions.run(&lane(name), Urgency::InTurn, &"job", thread)).await.unwrap()
    }

    #[tokio::test]
    async fn a_lane_with_endless_jobs_leaves_a_thread_to_others() {
        let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
        let held = [hold(&decisions, "hostile", Urgency::InTurn), hold(&decisions, "hostile", Urgency::InTurn)];
        for _ in 0..3 {
            assert!(run(&decisions, "quiet").await.unwrap().starts_with("decide-"));
        }
        drop(held);
        assert!(run(&decisions, "hostile").await.is_some());
    }

    #[tokio::test]
    async fn what_can_wait_leaves_a_thread_to_others_and_is_not_starved() {
        let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
        let held = [hold(&decisions, "one", Urgency::Later), hold(&decisions, "two", Urgency::Later)];
        assert!(run(&decisions, "quiet").await.is_some());
        drop(held);
        let flood = Arc::clone(&decisions);
        let flood = tokio::spawn(async move {
            loop {
                run(&flood, "flood").await;
            }
        });
        let three = lane("three");
        let later = decisions.run(&three, Urgency::Later, &"job", || 1);
        assert_eq!(tokio::time::timeout(LIMIT, later).await.unwrap(), Some(1));
        flood.abort();
    }

    #[test]
    fn those_in_their_turn_go_first_but_not_always() {
        let mut state = State::new(1);
        for _ in 0..2 * TURNS {
            state.in_turn.push(&lane("a"), Box::new(|| ()));
            state.later.push(&lane("b"), Box::new(|| ()));
        }
        let mut order = Vec::new();
        while let Some((urgency, lane, _)) = state.pick(1) {
            state.end(urgency, &lane, Duration::from_millis(1));
            order.push(urgency);
        }
        let early: Vec<usize> = (0..2 * TURNS).filter(|at| order[*at] == Urgency::Later).collect();
        assert_eq!(early, [TURNS], "one in so many, until nobody else waits");
        assert_eq!(order.len(), 4 * TURNS);
    }

    #[test]
    fn a_thread_is_woken_for_what_it_may_do_only() {
        let mut state = State { idle: 1, ..State::new(1) };
        assert!(!state.wants_another(1));
        for urgency in [Urgency::InTurn, Urgency::Later] {
            for name in ["a", "a", "b"] {
                let lanes = if urgency == Urgency::InTurn { &mut state.in_turn } else { &mut state.later };
                lanes.push(&lane(name), Box::new(|| ()));
                // The second job of a lane that has all it may have.
                assert_eq!(state.wants_another(1), state.pick(1).is_some(), "{urgency:?} {name}");
            }
        }
        state.in_turn.push(&lane("c"), Box::new(|| ()));
        assert!(state.wants_another(1));
        state.idle = 0;
        assert!(!state.wants_another(1), "there is nobody to wake");
    }

    /// On one thread, whose time stands still.
    #[tokio::test(start_paused = true)]
    async fn a_simulators_jobs_are_done_where_it_is_and_in_their_order() {
        let decisions = Arc::new(Decisions::inline(|| ()));
        let order = Arc::new(Mutex::new(Vec::new()));
        for (name, urgency) in
            [("a", Urgency::Later), ("a", Urgency::InTurn), ("a", Urgency::InTurn), ("b", Urgency::InTurn)]
        {
            let order = Arc::clone(&order);
            decisions.begin(&lane(name), urgency, "job", move || lock(&order).push((name, urgency)));
        }
        let here = thread::current().id();
        assert_eq!(decisions.run(&lane("c"), Urgency::Later, &"job", || thread::current().id()).await, Some(here));
        let names: Vec<_> = lock(&order).iter().map(|(name, urgency)| (*name, *urgency == Urgency::Later)).collect();
        assert_eq!(names, [("a", false), ("b", false), ("a", false), ("a", true)]);
        assert_eq!(decisions.run(&lane("a"), Urgency::InTurn, &"job", || panic!("on purpose")).await, None::<()>);
        assert_eq!(decisions.run(&lane("a"), Urgency::InTurn, &"job", || 1).await, Some(1));
    }

    #[tokio::test]
    async fn a_short_job_is_done_by_its_bringer_where_nobody_else_has_any() {
        let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
        let (quiet, other) = (lane("quiet"), lane("other"));
        let here = decisions.here(&quiet);
        assert!(here.is_some() && decisions.here(&other).is_none(), "one at a time");
        assert!(run(&decisions, "other").await.unwrap().starts_with("decide-"), "nobody waits for it");
        drop(here);
        let held = hold(&decisions, "hostile", Urgency::Later);
        tokio::time::timeout(LIMIT, async {
            while decisions.here(&quiet).is_some() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("a thread is at work");
        drop(held);
        let free = async {
            while decisions.here(&quiet).is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, free).await.expect("none is any more");
        lock(&decisions.shared.state).later.push(&other, Box::new(|| ()));
        assert!(decisions.here(&quiet).is_none(), "somebody waits");
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_done_as_well() {
        let decisions = Decisions::with_threads(2, || ()).unwrap();
        let (done, is_done) = oneshot::channel();
        decisions.begin(&lane("hostile"), Urgency::InTurn, "job", || panic!("on purpose"));
        decisions.begin(&lane("hostile"), Urgency::Later, "job", move || {
            let _ = done.send(());
        });
        assert_eq!(tokio::time::timeout(LIMIT, is_done).await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_job_that_panics_ends_nobody_else() {
        let decisions = Decisions::with_threads(2, || ()).unwrap();
        for _ in 0..4 {
            let answer = decisions.run(&lane("hostile"), Urgency::InTurn, &"job", || panic!("on purpose")).await;
            assert_eq!(answer, None::<()>);
        }
        assert!(run(&decisions, "hostile").await.is_some());
    }

    #[tokio::test]
    async fn slow_jobs_are_counted_and_told_once_a_second() {
        static COUNTED: AtomicUsize = AtomicUsize::new(0);
        let count = || _ = COUNTED.fetch_add(1, Ordering::Relaxed);
        let decisions = Decisions::with_threads(2, count).unwrap();
        for _ in 0..2 {
            let slow = || thread::sleep(SLOW + Duration::from_millis(5));
            decisions.run(&lane("slow"), Urgency::InTurn, &"job", slow).await;
        }
        run(&decisions, "quick").await;
        assert!(COUNTED.load(Ordering::Relaxed) >= 2);
        assert_eq!(lock(&decisions.shared.told).unsaid, 1);
    }
}
