//! `Backoff`: growing, jittered, capped waits between attempts.

use std::time::Duration;

use crate::random;

/// Waits that double from `first` to `cap`, each shortened by up to a half at random, so that many do not march in step.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
}

impl Backoff {
    /// The first wait is about `first`, none is longer than `cap`.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, failures: 0 }
    }

    /// The next wait.
    pub fn wait(&mut self) -> Duration {
        let wait = delay(self.first, self.cap, self.failures);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    /// How often in a row it has been waited since something worked.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Something worked: start over.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// The wait after so many earlier failures: whole milliseconds, for timers have no finer ones, and which of two come first
/// would be chance.
pub fn delay(first: Duration, cap: Duration, failures: u32) -> Duration {
    let full = first.saturating_mul(2_u32.saturating_pow(failures.min(20))).min(cap);
    let millis = u64::try_from(full.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random::within(millis / 2..=millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_the_cap_and_no_further() {
        let (first, cap) = (Duration::from_millis(100), Duration::from_secs(5));
        assert!(delay(first, cap, 0) <= first);
        assert!(delay(first, cap, 3) >= Duration::from_millis(400));
        assert!(delay(first, cap, u32::MAX) <= cap);
        assert!(delay(first, cap, u32::MAX) >= cap / 2);
        assert_eq!(delay(first, cap, 7).subsec_nanos() % 1_000_000, 0);
    }
}
