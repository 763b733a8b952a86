//! How long to wait after a Broker has failed: longer each time, up to some minutes, and never in step with others.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use runtime_fleet::backoff::delay;

/// First and longest wait.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(3);

/// Failures in a row, by namespace and name.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<(String, String), u32>>);

impl Failures {
    /// One more: how long to wait now.
    pub fn add(&self, namespace: &str, name: &str) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry((namespace.to_owned(), name.to_owned())).or_default();
        let wait = delay(FIRST, LONGEST, *count);
        *count = count.saturating_add(1);
        wait
    }

    /// It worked, or the Broker is gone.
    pub fn forget(&self, namespace: &str, name: &str) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.remove(&(namespace.to_owned(), name.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_for_each_by_itself_and_start_over() {
        let failures = Failures::default();
        assert!(failures.add("n", "a") <= FIRST);
        for _ in 0..20 {
            assert!(failures.add("n", "a") <= LONGEST);
        }
        assert!(failures.add("n", "a") >= LONGEST / 2);
        assert!(failures.add("n", "b") <= FIRST, "another Broker");
        failures.forget("n", "a");
        assert!(failures.add("n", "a") <= FIRST);
    }
}
