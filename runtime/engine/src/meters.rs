//! `Meters`: what is counted of machines, as the program has its metrics.

use std::time::Duration;

/// Called from everywhere: must be quick.
#[derive(Debug)]
pub struct Meters {
    /// A key's turn has come, and it waited this long for that.
    pub waited: fn(Duration),
    /// A key was observed and decided on, and that took this long.
    pub decided: fn(Duration),
    /// A job on the threads for decisions took long.
    pub slow: fn(),
    /// Work on a key, its writes included, took this long.
    pub worked: fn(Duration),
    /// A write did not go through: CamelCase word.
    pub write_failed: fn(&'static str),
    /// An Event was not sent because there were too many.
    pub event_dropped: fn(),
}
