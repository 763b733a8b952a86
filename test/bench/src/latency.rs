//! Percentiles of durations.

use std::time::Duration;

/// Durations of one sort, sorted.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    /// Sorts them. None at all is an error: a percentile of nothing would look like a perfect result.
    pub(crate) fn new(mut durations: Vec<Duration>) -> anyhow::Result<Self> {
        anyhow::ensure!(!durations.is_empty(), "nothing was measured");
        durations.sort_unstable();
        Ok(Self(durations))
    }

    /// The nearest-rank percentile, `percent` in 1..=100, in milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).clamp(1, self.0.len());
        self.0[rank - 1].as_secs_f64() * 1_000.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::float_cmp)]

    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let latencies = Latencies::new((1..=200).rev().map(Duration::from_millis).collect()).unwrap();
        assert_eq!((latencies.percentile(50), latencies.percentile(99)), (100.0, 198.0));
        let one = Latencies::new(vec![Duration::from_millis(7)]).unwrap();
        assert_eq!((one.percentile(50), one.percentile(99)), (7.0, 7.0));
        assert!(Latencies::new(Vec::new()).is_err());
    }
}
