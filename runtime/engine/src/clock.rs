//! The time of decisions: durations by a steady clock, stamps for people by the wall clock.
//!
//! Somebody sets a clock an hour forward or back, and nothing that waits may take that for an hour: no object is placed
//! anew, no move redirected. So the wall clock is read once, when the process starts, and the time since then is added to
//! it. What an earlier process wrote down was by its clock: see [`Now::since`].
//!
//! The steady clock is the runtime's ([`tokio::time`]), here and everywhere that there is a runtime: tests pause it, and nobody
//! asks another. CEL is evaluated on threads without one, whose own clock says for how long: `runtime-cel` asks the system,
//! and a simulator, where expressions end by steps alone, does not ask at all.
//!
//! The wall clock is [`wall`]'s. It is read here once more, by the same rule, since tests of this file set it back.

use std::{
    cell::RefCell,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use k8s_openapi::jiff::Timestamp;
use runtime_effect::now::Now;
use runtime_fleet::wall;
use tokio::time::Instant;

struct Clock {
    wall: fn() -> SystemTime,
    /// When the process started, by both clocks.
    started: (Instant, u64),
}

static CLOCK: LazyLock<Clock> = LazyLock::new(|| Clock::starting(SystemTime::now));

/// The moment of a decision.
pub fn now() -> Now {
    let Some(simulated) = wall::simulated() else { return CLOCK.now() };
    // A simulator's processes come and go within this one: each sets its clock when it starts.
    let millis = |since: Duration| u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Now { millis: millis(simulated.steady()), started: millis(simulated.epoch), text: stamp(simulated.now().as_secs()) }
}

impl Clock {
    fn starting(wall: fn() -> SystemTime) -> Self {
        let since = wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { wall, started: (Instant::now(), u64::try_from(since.as_millis()).unwrap_or(u64::MAX)) }
    }

    fn now(&self) -> Now {
        let (began, started) = self.started;
        let passed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let wall = (self.wall)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Now { millis: started.saturating_add(passed), started, text: stamp(wall.as_secs()) }
    }
}

/// RFC 3339. Made once a second on each thread: decisions are more frequent.
fn stamp(seconds: u64) -> String {
    thread_local! {
        static LAST: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    LAST.with_borrow_mut(|(of, text)| {
        if *of != seconds {
            let stamp = Timestamp::from_second(i64::try_from(seconds).unwrap_or_default()).unwrap_or_default();
            (*of, *text) = (seconds, stamp.to_string());
        }
        text.clone()
    })
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::*;

    thread_local! {
        static WALL: Cell<u64> = const { Cell::new(0) };
    }

    fn wall() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(WALL.get())
    }

    #[test]
    fn a_jump_of_the_wall_clock_changes_stamps_and_no_duration() {
        WALL.set(1_767_225_600);
        let clock = Clock::starting(wall);
        let before = clock.now();
        assert_eq!((before.started, &*before.text), (1_767_225_600_000, "2026-01-01T00:00:00Z"));
        for jump in [3600, -3600] {
            WALL.set(1_767_225_600_u64.saturating_add_signed(jump));
            let after = clock.now();
            assert!((before.millis..before.millis + 60_000).contains(&after.millis), "{jump}: {after:?}");
            assert!(after.since(before.millis) < 60_000);
        }
        assert_eq!(clock.now().text, "2025-12-31T23:00:00Z");
    }
}
