//! `Intake`: whether something that others see already is being taken in still (what it concerns is not all in the queue), and
//! whether all that was there at the start has been looked at.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, futures::Notified};

/// Counts what is being taken in, and tells those who wait at the start that something has become known.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    count: AtomicUsize,
    news: Notify,
    synced: AtomicBool,
}

/// Something is being taken in, until this is dropped, which is news.
#[derive(Debug)]
pub(crate) struct Taking<'a>(&'a Intake);

impl Intake {
    /// To be called before others can see what is taken in, and dropped once all that it concerns is in the queue.
    #[must_use]
    pub(crate) fn begin(&self) -> Taking<'_> {
        self.count.fetch_add(1, Ordering::SeqCst);
        Taking(self)
    }

    /// Something has become known.
    pub(crate) fn tell(&self) {
        self.news.notify_waiters();
    }

    /// Comes to its end when something becomes known. Whoever does not want to miss it asks for this before looking.
    pub(crate) fn news(&self) -> Notified<'_> {
        self.news.notified()
    }

    /// Whether everything that was there at the start has been looked at once.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Relaxed)
    }

    /// Notes that it has.
    pub(crate) fn set_synced(&self) {
        self.synced.store(true, Ordering::Relaxed);
    }

    /// Whether nothing is. Whoever has seen something asks after that, and looks at the queue after this.
    pub(crate) fn is_over(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_when_the_last_is() {
        let intake = Intake::default();
        let (one, other) = (intake.begin(), intake.begin());
        drop(one);
        assert!(!intake.is_over());
        drop(other);
        assert!(intake.is_over());
    }
}
