//! Threads with a large stack and a way out: work that does not end in time is left behind, with its thread. Each
//! owner has a share of them, so that the slow work of one does not keep that of others from being done.

use std::{
    collections::HashMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// The parser takes some 140 KB a parenthesis when it is not optimised. Only touched pages are resident.
const STACK: usize = 32 * 1024 * 1024;

/// Threads that work at the same time; one slow expression must not hold up the others.
const MAX_WORKERS: usize = 4;

/// Those of them that may work for one owner, counting threads left behind that still run for it.
const SHARE: usize = MAX_WORKERS / 2;

type Job = Box<dyn FnOnce() + Send>;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PoolError {
    /// The work has not ended; whether it is slow or the machine busy, nobody knows yet.
    Late,
    Panicked,
    Busy,
    Spawn(String),
}

/// Without threads the work is done where it is asked for.
pub(crate) struct Pool(Option<Arc<Shared>>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// Idle and working, without those left behind.
    alive: usize,
    /// Threads that work for each owner, and those left behind.
    busy: HashMap<Arc<str>, usize>,
}

/// A thread that ends when this is dropped and its work is done.
struct Worker(mpsc::Sender<Job>);

/// One thread of an owner's share, given back when the work has ended.
struct Turn {
    shared: Arc<Shared>,
    owner: Arc<str>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(count) = state.busy.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                state.busy.remove(&self.owner);
            }
        }
        drop(state);
        self.shared.returned.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self) {
        self.lock().alive -= 1;
        self.returned.notify_all();
    }

    fn take(self: &Arc<Self>, owner: &Arc<str>, queue: Duration) -> Result<(Worker, Turn), PoolError> {
        let has_share = |state: &State| state.busy.get(owner).is_none_or(|busy| *busy < SHARE);
        let full = |state: &mut State| !has_share(state) || state.idle.is_empty() && state.alive >= MAX_WORKERS;
        let waited = self.returned.wait_timeout_while(self.lock(), queue, full);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if full(&mut state) {
            return Err(PoolError::Busy);
        }
        let worker = if let Some(worker) = state.idle.pop() {
            worker
        } else {
            let worker = spawn().map_err(|error| PoolError::Spawn(error.to_string()))?;
            state.alive += 1;
            worker
        };
        *state.busy.entry(Arc::clone(owner)).or_default() += 1;
        Ok((worker, Turn { shared: Arc::clone(self), owner: Arc::clone(owner) }))
    }
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Has no threads: nothing is left behind.
    pub(crate) fn inline() -> Self {
        Self(None)
    }

    /// Does the work on a thread of the pool, within the owner's share. Waits as long as `queue` for a thread, and as
    /// long as `patience` for the result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        owner: &Arc<str>,
        queue: Duration,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let Some(shared) = &self.0 else {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| PoolError::Panicked);
        };
        let (worker, turn) = shared.take(owner, queue)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let job: Job = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            drop(turn);
            // A result nobody waits for any more is dropped.
            let _ = sender.send(result);
        });
        if worker.0.send(job).is_err() {
            shared.forget();
            return Err(PoolError::Panicked);
        }
        match receiver.recv_timeout(patience) {
            Ok(result) => {
                shared.lock().idle.push(worker);
                shared.returned.notify_all();
                result.map_err(|_| PoolError::Panicked)
            }
            Err(RecvTimeoutError::Timeout) => {
                shared.forget();
                Err(PoolError::Late)
            }
            Err(RecvTimeoutError::Disconnected) => {
                shared.forget();
                Err(PoolError::Panicked)
            }
        }
    }
}

fn spawn() -> io::Result<Worker> {
    let (jobs, todo) = mpsc::channel::<Job>();
    thread::Builder::new().name("expression".to_owned()).stack_size(STACK).spawn(move || {
        while let Ok(job) = todo.recv() {
            job();
        }
    })?;
    Ok(Worker(jobs))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Barrier;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(5);

    fn owner(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn gives_back_results_and_survives_panics() {
        let (pool, owner) = (Pool::new(), owner("a"));
        assert_eq!(pool.run(&owner, LONG, LONG, || 42), Ok(42));
        assert_eq!(pool.run(&owner, LONG, LONG, || -> u8 { panic!("on purpose") }), Err(PoolError::Panicked));
        assert_eq!(pool.run(&owner, LONG, LONG, || 43), Ok(43));
        let state = pool.0.as_ref().unwrap().lock();
        assert_eq!((state.alive, state.idle.len(), state.busy.len()), (1, 1, 0));
    }

    #[test]
    fn without_threads_the_work_is_done_here() {
        let (pool, owner) = (Pool::inline(), owner("a"));
        let here = thread::current().id();
        assert_eq!(pool.run(&owner, SHORT, SHORT, || thread::current().id()), Ok(here));
        assert_eq!(pool.run(&owner, SHORT, SHORT, || -> u8 { panic!("on purpose") }), Err(PoolError::Panicked));
    }

    #[test]
    fn threads_left_behind_count_for_their_owner_until_they_end() {
        let pool = Pool::new();
        let gate = Arc::new(Barrier::new(SHARE + 1));
        for _ in 0..SHARE {
            let gate = Arc::clone(&gate);
            let late = pool.run(&owner("slow"), LONG, SHORT, move || {
                gate.wait();
            });
            assert_eq!(late, Err(PoolError::Late));
        }
        assert_eq!(pool.0.as_ref().unwrap().lock().alive, 0, "they are nobody's any more");
        assert_eq!(pool.run(&owner("slow"), SHORT, LONG, || 1), Err(PoolError::Busy));
        assert_eq!(pool.run(&owner("other"), SHORT, LONG, || 1), Ok(1), "others go on");
        gate.wait();
        assert_eq!(pool.run(&owner("slow"), LONG, LONG, || 1), Ok(1));
    }

    #[test]
    fn one_owner_has_no_more_than_its_share_and_all_no_more_than_there_is() {
        let pool = Arc::new(Pool::new());
        let gate = Arc::new(Barrier::new(MAX_WORKERS + 1));
        let callers: Vec<_> = (0..MAX_WORKERS)
            .map(|n| {
                let (pool, gate) = (Arc::clone(&pool), Arc::clone(&gate));
                thread::spawn(move || {
                    pool.run(&owner(if n < SHARE { "a" } else { "b" }), LONG, LONG, move || {
                        gate.wait();
                        gate.wait();
                    })
                })
            })
            .collect();
        gate.wait();
        for name in ["a", "c"] {
            assert_eq!(pool.run(&owner(name), SHORT, LONG, || ()), Err(PoolError::Busy), "{name}");
        }
        gate.wait();
        assert_eq!(pool.run(&owner("c"), LONG, LONG, || ()), Ok(()));
        for caller in callers {
            assert_eq!(caller.join().unwrap(), Ok(()));
        }
    }
}
