//! `Clock`: the time that API servers stamp objects with. It goes with the runtime's, which tests pause.

use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// Wall-clock time, counted from a moment that does not depend on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    epoch: Duration,
}

impl Clock {
    /// A clock that shows `epoch`, in seconds since 1970, now.
    pub fn starting(epoch: i64) -> Self {
        Self { began: Instant::now(), epoch: Duration::from_secs(u64::try_from(epoch).unwrap_or_default()) }
    }

    /// One that goes with the machine's, as long as nobody sets that.
    pub fn of_the_machine() -> Self {
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), epoch }
    }

    /// Since it began.
    pub fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What it shows, since 1970.
    pub fn wall(&self) -> Duration {
        self.epoch + self.passed()
    }

    /// RFC 3339, in whole seconds.
    pub fn stamp(&self) -> String {
        let now = i64::try_from(self.wall().as_secs()).unwrap_or(i64::MAX);
        Timestamp::from_second(now).unwrap_or_default().to_string()
    }
}
