//! `Intake`: whether something that others see already is being taken in still: what it concerns is not all in the queue.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is being taken in.
#[derive(Debug, Default)]
pub(crate) struct Intake(AtomicUsize);

/// Something is being taken in, until this is dropped.
#[derive(Debug)]
pub(crate) struct Taking<'a>(&'a Intake);

impl Intake {
    /// To be called before others can see what is taken in, and dropped once all that it concerns is in the queue.
    #[must_use]
    pub(crate) fn begin(&self) -> Taking<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Taking(self)
    }

    /// Whether nothing is. Whoever has seen something asks after that, and looks at the queue after this.
    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
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
