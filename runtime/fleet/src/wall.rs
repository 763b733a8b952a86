//! The one wall clock: the system's, unless a simulator has set that of its thread, or of one of its programs.
//!
//! For stamps that people and other processes read. What is waited for, and how long, the runtime's steady clock says.
//!
//! Whatever a simulator runs asks here, or `clock.rs` of `runtime-engine`, which asks here first. The operator and commands, which
//! none runs, ask the system.

use std::{cell::Cell, time::Duration};

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

thread_local! {
    static SET: Cell<Option<Wall>> = const { Cell::new(None) };
}

tokio::task_local! {
    static OWN: Option<Wall>;
}

/// A wall clock that goes with the runtime's, which simulators pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// When it was set.
    pub since: Instant,
    /// Since 1970, then.
    pub epoch: Duration,
    /// That somebody sets it, as a clock that jumps.
    pub jump: Option<Jump>,
}

/// What becomes of a clock that somebody sets while programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// How long after [`Wall::since`].
    pub after: Duration,
    /// How far, in seconds: back, where it is negative.
    pub by: i64,
}

impl Wall {
    /// Since 1970, now, as it is shown.
    pub fn now(&self) -> Duration {
        let steady = self.steady();
        match self.jump {
            Some(Jump { after, by }) if self.since.elapsed() >= after => skewed(steady, by),
            _ => steady,
        }
    }

    /// Since 1970, as it would be shown had nobody set it since.
    pub fn steady(&self) -> Duration {
        self.epoch.saturating_add(self.since.elapsed())
    }
}

/// What a clock shows that is wrong by so many seconds.
pub fn skewed(right: Duration, by: i64) -> Duration {
    let wrong = Duration::from_secs(by.unsigned_abs());
    if by.is_negative() { right.saturating_sub(wrong) } else { right.saturating_add(wrong) }
}

/// From now on this thread's wall clock shows `epoch`, since 1970, and goes on from there with the runtime's. For simulators
/// only: nobody else runs everything on one thread.
pub fn set(epoch: Duration) {
    SET.set(Some(Wall { since: Instant::now(), epoch, jump: None }));
}

/// To a task the wall clock shows this, where it is anything; what it begins is told so by [`crate::crash::spawn`].
pub(crate) fn shown<F: Future>(own: Option<Wall>, task: F) -> impl Future<Output = F::Output> {
    OWN.scope(own, task)
}

/// The clock of this program, or of this thread, where a simulator has set it.
pub fn simulated() -> Option<Wall> {
    OWN.try_with(|own| *own).ok().flatten().or(SET.get())
}

/// What time it is.
pub fn now() -> Timestamp {
    let told = |wall: Wall| Timestamp::from_microsecond(i64::try_from(wall.now().as_micros()).unwrap_or(i64::MAX)).ok();
    simulated().and_then(told).unwrap_or_else(Timestamp::now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_simulators_clock_goes_with_the_runtimes() {
        assert!(simulated().is_none() && now().as_second() > 1_700_000_000);
        set(Duration::from_secs(1_000));
        assert_eq!(now().as_second(), 1_000);
        tokio::time::sleep(Duration::from_millis(61_500)).await;
        assert_eq!(now().as_millisecond(), 1_061_500);
        set(Duration::from_secs(5));
        assert_eq!(now().as_second(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_shows_it_and_goes_on_steadily() {
        let of = |by| Wall {
            since: Instant::now(),
            epoch: Duration::from_secs(5_000),
            jump: Some(Jump { after: Duration::from_mins(1), by }),
        };
        let walls = [of(3_600), of(-3_600), of(-9_000)];
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert_eq!(walls.map(|wall| wall.now().as_secs()), [5_059; 3]);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(walls.map(|wall| wall.now().as_secs()), [8_660, 1_460, 0]);
        assert_eq!(walls.map(|wall| wall.steady().as_secs()), [5_060; 3]);
    }
}
