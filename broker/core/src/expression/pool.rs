//! Threads with a large stack and a way out: work that does not end in time is left behind, with its thread.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// The parser takes some 140 KB a parenthesis when it is not optimised. Only touched pages are resident.
const STACK: usize = 32 * 1024 * 1024;

/// Threads that work at the same time; one slow expression must not hold up the others.
const MAX_WORKERS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PoolError {
    TimedOut,
    Panicked,
    Busy,
    Spawn(String),
}

pub(super) struct Pool {
    state: Mutex<State>,
    returned: Condvar,
    stuck: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// Idle and working, without those left behind.
    alive: usize,
}

/// A thread that ends when this is dropped and its work is done.
struct Worker {
    jobs: mpsc::Sender<Job>,
    left_behind: Arc<AtomicBool>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), returned: Condvar::new(), stuck: Arc::default() }
    }

    /// Threads that were left behind and still run.
    pub(super) fn stuck(&self) -> usize {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Does the work on a thread of the pool. The limit begins once a thread is free.
    pub(super) fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let worker = self.take(limit)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let job: Job = Box::new(move || {
            // A result nobody waits for any more is dropped.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        if worker.jobs.send(job).is_err() {
            self.forget();
            return Err(PoolError::Panicked);
        }
        match receiver.recv_timeout(limit) {
            Ok(result) => {
                self.lock().idle.push(worker);
                self.returned.notify_one();
                result.map_err(|_| PoolError::Panicked)
            }
            Err(RecvTimeoutError::Timeout) => {
                // In this order: the thread reads the mark once `worker` is dropped.
                self.stuck.fetch_add(1, Ordering::Relaxed);
                worker.left_behind.store(true, Ordering::Release);
                self.forget();
                Err(PoolError::TimedOut)
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.forget();
                Err(PoolError::Panicked)
            }
        }
    }

    fn take(&self, limit: Duration) -> Result<Worker, PoolError> {
        let full = |state: &mut State| state.idle.is_empty() && state.alive >= MAX_WORKERS;
        let (mut state, _) =
            self.returned.wait_timeout_while(self.lock(), limit, full).unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = state.idle.pop() {
            return Ok(worker);
        }
        if state.alive >= MAX_WORKERS {
            return Err(PoolError::Busy);
        }
        let worker = spawn(Arc::clone(&self.stuck)).map_err(|error| PoolError::Spawn(error.to_string()))?;
        state.alive += 1;
        Ok(worker)
    }

    fn forget(&self) {
        self.lock().alive -= 1;
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(stuck: Arc<AtomicUsize>) -> io::Result<Worker> {
    let (jobs, todo) = mpsc::channel::<Job>();
    let left_behind = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&left_behind);
    thread::Builder::new().name("expression".to_owned()).stack_size(STACK).spawn(move || {
        while let Ok(job) = todo.recv() {
            job();
        }
        if mark.load(Ordering::Acquire) {
            stuck.fetch_sub(1, Ordering::Relaxed);
        }
    })?;
    Ok(Worker { jobs, left_behind })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn gives_back_results_and_survives_panics() {
        let pool = Pool::new();
        assert_eq!(pool.run(LONG, || 42), Ok(42));
        assert_eq!(pool.run(LONG, || -> u8 { panic!("on purpose") }), Err(PoolError::Panicked));
        assert_eq!(pool.run(LONG, || 43), Ok(43));
        let state = pool.lock();
        assert_eq!((state.alive, state.idle.len(), pool.stuck()), (1, 1, 0));
    }

    #[test]
    fn leaves_stuck_threads_behind_and_counts_them_out() {
        let pool = Pool::new();
        let (release, held) = mpsc::channel::<()>();
        let (done, ended) = mpsc::channel();
        let work = move || {
            let _ = held.recv();
            done.send(()).unwrap();
        };
        assert_eq!(pool.run(Duration::from_millis(5), work), Err(PoolError::TimedOut));
        assert_eq!(pool.stuck(), 1);
        assert_eq!(pool.run(LONG, || 1), Ok(1), "others go on");
        drop(release);
        ended.recv().unwrap();
        let deadline = std::time::Instant::now() + LONG;
        while pool.stuck() > 0 && std::time::Instant::now() < deadline {
            thread::yield_now();
        }
        assert_eq!(pool.stuck(), 0);
    }

    #[test]
    fn waits_for_a_free_thread_and_says_when_there_is_none() {
        let pool = Arc::new(Pool::new());
        let gate = Arc::new(std::sync::Barrier::new(MAX_WORKERS + 1));
        let callers: Vec<_> = (0..MAX_WORKERS)
            .map(|_| {
                let (pool, gate) = (Arc::clone(&pool), Arc::clone(&gate));
                thread::spawn(move || {
                    pool.run(LONG, move || {
                        gate.wait();
                        gate.wait();
                    })
                })
            })
            .collect();
        gate.wait();
        assert_eq!(pool.run(Duration::from_millis(1), || ()), Err(PoolError::Busy));
        gate.wait();
        assert_eq!(pool.run(LONG, || ()), Ok(()));
        for caller in callers {
            assert_eq!(caller.join().unwrap(), Ok(()));
        }
    }
}
