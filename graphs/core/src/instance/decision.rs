//! `Decision`: what to do about one instance now.

use std::time::Duration;

use runtime_effect::note::Note;

use super::subject::Subject;

/// One write about an instance.
pub type Write = runtime_effect::write::Write<Subject>;

/// How it stands with an instance: what metrics count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum State {
    /// Not enough is known.
    #[default]
    Unknown,
    /// There is no such object, or nothing of ours is on it any more.
    Gone,
    /// No graph serves its kind.
    Unserved,
    /// All children are there and ready.
    Active,
    /// Something is written, or waited for.
    InProgress,
    /// Something failed.
    Error,
    /// A person has suspended it.
    Suspended,
    /// It is being deleted.
    Deleting,
}

/// What to do about one instance now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In this order; after the first failure no more. With what API servers answered, it is decided again.
    pub writes: Vec<Write>,
    /// How it stands.
    pub state: State,
    /// To tell now, whether or not anything is written; the same again and again.
    pub notes: Vec<Note>,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
    /// Once its writes went through there is nothing left to decide until something changes.
    pub complete: bool,
}

impl Decision {
    /// Look again after so many milliseconds, or sooner if that was already wanted.
    pub(super) fn again_in(&mut self, millis: u64) {
        let wait = Duration::from_millis(millis);
        self.again = Some(self.again.map_or(wait, |held| held.min(wait)));
    }
}
