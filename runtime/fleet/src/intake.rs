//! `Intake`: how much one cluster may give us to read. Reading costs processor time, and one must not take it all.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Bytes a second that are taken in from one cluster for long, all its watches together.
const RATE: f64 = 32.0 * 1024.0 * 1024.0;

/// Bytes that are taken in at once: a start with many objects need not wait.
const BURST: f64 = 128.0 * 1024.0 * 1024.0;

/// What taking in one thing costs beside its bytes, in bytes.
const EACH: f64 = 2048.0;

/// A token bucket of bytes.
#[derive(Debug)]
pub(crate) struct Intake(Mutex<(f64, Option<Instant>)>);

impl Default for Intake {
    fn default() -> Self {
        Self(Mutex::new((BURST, None)))
    }
}

impl Intake {
    /// Notes that so many bytes in so many pieces were read, and says how long to wait before more are.
    fn note(&self, bytes: usize, pieces: usize, now: Instant) -> Duration {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, last) = &mut *held;
        let passed = last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        #[expect(clippy::cast_precision_loss, reason = "nobody reads petabytes")]
        let cost = bytes as f64 + pieces as f64 * EACH;
        *left = (*left + passed.as_secs_f64() * RATE).min(BURST) - cost;
        *last = Some(now);
        if *left >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-*left / RATE) }
    }

    /// Takes in so many bytes in so many pieces: lets others have their turn, and waits where it was too much.
    pub(crate) async fn take(&self, bytes: usize, pieces: usize) {
        let wait = self.note(bytes, pieces, Instant::now());
        if wait.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_it_takes_its_time() {
        let intake = Intake::default();
        let now = Instant::now();
        assert_eq!(intake.note(100 << 20, 1000, now), Duration::ZERO);
        let wait = intake.note(64 << 20, 1, now);
        assert!(wait > Duration::from_millis(900) && wait < Duration::from_secs(2), "{wait:?}");
        assert_eq!(intake.note(0, 0, now + Duration::from_mins(1)), Duration::ZERO);
        // What was not used is not saved up.
        assert!(intake.note(256 << 20, 0, now + Duration::from_hours(1)) >= Duration::from_secs(3));
    }

    #[test]
    fn many_small_pieces_count_too() {
        let intake = Intake::default();
        let now = Instant::now();
        assert!(intake.note(100_000 * 50, 100_000, now) > Duration::ZERO);
    }
}
