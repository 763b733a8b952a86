//! `Now`: the moment of a decision.

/// The moment of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970 by a steady clock: whatever happens to the wall clock, a difference of two is a duration.
    pub millis: u64,
    /// When the process started, by the same clock.
    pub started: u64,
    /// What the wall clock says, as RFC 3339 with whole seconds, as conditions have it.
    pub text: String,
}

/// How far an API server's clock may be ahead of ours for its stamps to be taken for what has just been.
const AHEAD_MILLIS: u64 = 60_000;

impl Now {
    /// How many milliseconds have passed since a stamp, as far as this process has seen. A stamp of an earlier process is by
    /// another clock: one from before the start, or from the future, counts from the start.
    pub fn since(&self, stamp: u64) -> u64 {
        let from = if stamp > self.millis { self.started } else { stamp.max(self.started) };
        self.millis.saturating_sub(from)
    }

    /// The same of a stamp by an API server's clock, which may be somewhat ahead of ours: what is later by no more than
    /// [`AHEAD_MILLIS`] has just been.
    pub fn since_theirs(&self, stamp: u64) -> u64 {
        let ahead = stamp.saturating_sub(self.millis);
        if (1..=AHEAD_MILLIS).contains(&ahead) { 0 } else { self.since(stamp) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_other_clocks_count_from_the_start_or_have_just_been() {
        let now = Now { millis: 200_000, started: 100_000, text: String::new() };
        let ours = [150_000, 200_000, 200_001, 50_000].map(|stamp| now.since(stamp));
        assert_eq!(ours, [50_000, 0, 100_000, 100_000]);
        let theirs = [150_000, 200_000, 200_001, 260_000, 260_001].map(|stamp| now.since_theirs(stamp));
        assert_eq!(theirs, [50_000, 0, 0, 0, 100_000]);
    }
}
