//! `Clock`: the time that API servers stamp objects with. It goes with the runtime's, which tests pause.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// Wall-clock time, counted from a moment that does not depend on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    epoch: i64,
}

impl Clock {
    /// A clock that shows `epoch`, in seconds since 1970, now.
    pub fn starting(epoch: i64) -> Self {
        Self { began: Instant::now(), epoch }
    }

    /// Since it began.
    pub fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What it shows, since 1970.
    pub fn wall(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.epoch).unwrap_or_default()) + self.passed()
    }

    /// RFC 3339, in whole seconds.
    pub fn stamp(&self) -> String {
        let passed = i64::try_from(self.began.elapsed().as_secs()).unwrap_or(i64::MAX);
        Timestamp::from_second(self.epoch.saturating_add(passed)).unwrap_or_default().to_string()
    }
}
