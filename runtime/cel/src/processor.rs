//! Processor time: what a thread has used itself, however many others the machine is busy with.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What the calling thread has used since it began.
pub fn time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), part)
}
