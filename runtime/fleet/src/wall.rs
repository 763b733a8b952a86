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
}

impl Wall {
    /// Since 1970, now.
    pub fn now(&self) -> Duration {
        self.epoch.saturating_add(self.since.elapsed())
    }
}

/// From now on this thread's wall clock shows `epoch`, since 1970, and goes on from there with the runtime's. For simulators
/// only: nobody else runs everything on one thread.
pub fn set(epoch: Duration) {
    SET.set(Some(Wall { since: Instant::now(), epoch }));
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
}
