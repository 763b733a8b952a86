//! Whether this process leads, for everybody who writes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::{
    sync::watch,
    time::{Duration, Instant},
};

/// A handle on an election's state. Cheap to clone and to ask.
#[derive(Debug, Clone)]
pub struct Leadership {
    start: Instant,
    /// Nanoseconds from `start` until which this process leads; 0: it does not.
    until: Arc<AtomicU64>,
    changes: watch::Receiver<bool>,
}

impl Leadership {
    /// For a process without an election: leads for ever.
    pub fn always() -> Self {
        let until = Arc::new(AtomicU64::new(u64::MAX));
        Self { start: Instant::now(), until, changes: watch::channel(true).1 }
    }

    pub(super) fn follower() -> (Self, Grant) {
        let (sender, changes) = watch::channel(false);
        let leadership = Self { start: Instant::now(), until: Arc::default(), changes };
        (leadership.clone(), Grant { leadership, sender })
    }

    /// Whether this process leads now. To be asked right before each write: it reads the clock, so a process that slept
    /// past its lease knows at once, before its election task has run.
    pub fn is_leader(&self) -> bool {
        self.valid_until().is_some_and(|until| Instant::now() < until)
    }

    /// When this process stops leading unless it renews; None if it does not lead. A write that must not outlive the
    /// lease takes this as its deadline.
    pub fn valid_until(&self) -> Option<Instant> {
        match self.until.load(Ordering::Acquire) {
            0 => None,
            // For ever, as far as a deadline is concerned.
            u64::MAX => Some(Instant::now() + Duration::from_hours(365 * 24)),
            nanoseconds => Some(self.start + Duration::from_nanos(nanoseconds)),
        }
    }

    /// Becomes true when leadership is won, and false when it is lost.
    pub fn changes(&self) -> watch::Receiver<bool> {
        self.changes.clone()
    }
}

/// The right to change a [`Leadership`].
#[derive(Debug)]
pub(super) struct Grant {
    leadership: Leadership,
    sender: watch::Sender<bool>,
}

impl Grant {
    pub(super) fn lead_until(&self, until: Instant) {
        let since_start = until.duration_since(self.leadership.start).as_nanos();
        let since_start = u64::try_from(since_start).unwrap_or(u64::MAX - 1);
        self.leadership.until.store(since_start, Ordering::Release);
        self.sender.send_if_modified(|leads| !std::mem::replace(leads, true));
    }

    pub(super) fn follow(&self) {
        self.leadership.until.store(0, Ordering::Release);
        self.sender.send_if_modified(|leads| std::mem::replace(leads, false));
    }

    pub(super) fn valid_until(&self) -> Option<Instant> {
        self.leadership.valid_until()
    }
}
