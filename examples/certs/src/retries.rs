//! How long a Certificate that failed waits for its next turn: each one for itself, longer each time.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use broker_api::example::Certificate;
use kube::runtime::reflector::ObjectRef;

const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_mins(2);

/// Failures in a row, by object.
#[derive(Debug, Default)]
pub struct Retries(Mutex<HashMap<ObjectRef<Certificate>, u32>>);

impl Retries {
    /// Counts a failure and says how long to wait: 250 ms, doubled each time, at most 2 min.
    pub fn failed(&self, certificate: ObjectRef<Certificate>) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(certificate).or_default();
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(*count)).min(LAST);
        *count = count.saturating_add(1);
        wait
    }

    /// Forgets the failures of an object that is well, or gone.
    pub fn clear(&self, certificate: &ObjectRef<Certificate>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(certificate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_each_time_and_each_object_for_itself() {
        let retries = Retries::default();
        let object = |name: &str| ObjectRef::<Certificate>::new(name).within("default");
        let waits: Vec<_> = (0..12).map(|_| retries.failed(object("a")).as_millis()).collect();
        assert_eq!(waits[..3], [250, 500, 1000]);
        assert_eq!(waits[11], LAST.as_millis());
        assert_eq!(retries.failed(object("b")), FIRST);
        retries.clear(&object("a"));
        assert_eq!(retries.failed(object("a")), FIRST);
    }
}
