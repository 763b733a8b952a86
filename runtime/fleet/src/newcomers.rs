//! `Newcomers`: how many servers are got to know at the same time.
//!
//! A thousand that are met at once would each have begun before the first is done, and all that each needs meanwhile would
//! be held a thousand times: what is freed afterwards lies between what stays, and is not given back.

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

use crate::lock::lock;

/// So many at a time.
const AT_ONCE: usize = 32;

/// How long nobody may get on before the others wait no more: those before them get no answer.
const STALLED: Duration = Duration::from_millis(250);

/// Whose turn it is. One that gets no answer keeps nobody waiting for long.
#[derive(Debug)]
pub(crate) struct Newcomers {
    turns: Semaphore,
    /// When somebody got on last.
    moved: Mutex<Instant>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    newcomers: &'a Newcomers,
    _held: Option<SemaphorePermit<'a>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.newcomers.moved() = Instant::now();
    }
}

impl Newcomers {
    pub(crate) fn new() -> Self {
        Self { turns: Semaphore::new(AT_ONCE), moved: Mutex::new(Instant::now()) }
    }

    fn moved(&self) -> MutexGuard<'_, Instant> {
        lock(&self.moved)
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        let mut turn = pin!(self.turns.acquire());
        loop {
            tokio::select! {
                // Never closed.
                held = &mut turn => return Turn { newcomers: self, _held: held.ok() },
                () = sleep(STALLED) => {}
            }
            let stalled = self.moved().elapsed() >= STALLED;
            if stalled {
                return Turn { newcomers: self, _held: None };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_few_at_a_time_as_long_as_they_get_on() {
        let newcomers = Newcomers::new();
        let mut turns = Vec::new();
        for _ in 0..AT_ONCE {
            turns.push(newcomers.turn().now_or_never().expect("there are turns"));
        }
        let mut next = pin!(newcomers.turn());
        for _ in 0..8 {
            assert!(next.as_mut().now_or_never().is_none(), "not while others get on");
            tokio::time::advance(STALLED / 2).await;
            *newcomers.moved() = Instant::now();
        }
        turns.pop();
        let next = next.now_or_never().expect("its turn");
        turns.push(next);
        let began = Instant::now();
        let one = newcomers.turn().await;
        assert!(began.elapsed() >= STALLED, "those before it get no answer");
        drop(one);
        assert_eq!(newcomers.turns.available_permits(), 0);
        turns.clear();
        assert_eq!(newcomers.turns.available_permits(), AT_ONCE);
    }
}
