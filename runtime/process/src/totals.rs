//! `Totals`: how much this process has done since it started, as plain numbers. Prometheus' own counters cannot be read back
//! without knowing all their labels.

use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Debug)]
pub struct Totals {
    decisions: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
}

/// What they were at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Decisions made.
    pub decisions: u64,
    /// Requests to API servers that read.
    pub reads: u64,
    /// Requests to API servers that write.
    pub writes: u64,
    /// Of both, those that were refused, or had no answer.
    pub failures: u64,
}

/// Those of this process.
pub static TOTALS: Totals = Totals::new();

impl Totals {
    const fn new() -> Self {
        Self {
            decisions: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// A decision was made.
    pub(crate) fn decided(&self) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was sent; `code` is 0 where there was no answer.
    pub(crate) fn asked(&self, verb: &str, code: u16) {
        let kind = if matches!(verb, "GET" | "HEAD") { &self.reads } else { &self.writes };
        kind.fetch_add(1, Ordering::Relaxed);
        if code == 0 || code >= 400 {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What they are now.
    pub fn done(&self) -> Done {
        let read = |total: &AtomicU64| total.load(Ordering::Relaxed);
        Done {
            decisions: read(&self.decisions),
            reads: read(&self.reads),
            writes: read(&self.writes),
            failures: read(&self.failures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let totals = Totals::new();
        totals.decided();
        for (verb, code) in [("GET", 200), ("GET", 404), ("PATCH", 201), ("POST", 0), ("DELETE", 409)] {
            totals.asked(verb, code);
        }
        assert_eq!(totals.done(), Done { decisions: 1, reads: 2, writes: 3, failures: 3 });
    }
}
