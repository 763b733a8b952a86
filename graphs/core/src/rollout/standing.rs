//! `Standing`: how far a cluster is.

use std::fmt;

use super::member::{Begun, Member, Reach};

/// Why a cluster fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Reason {
    Unreachable,
    Conflict,
    KindMissing,
    BreakingChange,
    ApplyRefused,
    NotEstablished,
    InstancesFailing,
    IdentityChanged,
    DuplicateCluster,
    DeadlineExceeded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// How far a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its turn has not come.
    Waiting,
    /// It runs what it should, and something is still waited for.
    Updating {
        /// Milliseconds after which that may be otherwise.
        again: u64,
    },
    /// It runs what it should.
    Updated {
        /// That is written down.
        noted: bool,
    },
    /// Nobody can tell. It takes room in its wave, and is no reason to stop others.
    Unreachable {
        /// In one word.
        reason: Reason,
        /// For people.
        message: String,
        /// Milliseconds until its wave no longer waits for it; 0: it does not.
        again: u64,
    },
    /// It was begun, and does not run what it should, or not well.
    Failed(Reason, String),
}

impl Standing {
    /// Whether nothing is waited for.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Updated { .. } | Self::Failed(..) | Self::Unreachable { again: 0, .. })
    }

    /// Whether it takes room in its wave.
    pub(super) fn takes_room(&self) -> bool {
        matches!(self, Self::Updating { .. } | Self::Unreachable { .. })
    }
}

/// What a cluster is to reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub(super) revision: i64,
    /// Milliseconds.
    pub(super) soak: u64,
    /// Milliseconds.
    pub(super) deadline: u64,
}

impl Goal {
    pub(super) fn standing(self, member: &Member, now: u64) -> Standing {
        let spoke = match &member.reach {
            Reach::Unreachable { reason, message, since } => {
                let again = self.deadline.saturating_sub(now.saturating_sub(*since));
                return Standing::Unreachable { reason: *reason, message: message.clone(), again };
            }
            Reach::Reached(spoke) => spoke,
        };
        let Some(mark) = spoke.runs(self.revision) else {
            return match (spoke.trouble(self.revision), spoke.begun(self.revision)) {
                (Some(trouble), _) => Standing::Failed(trouble.reason, trouble.message.clone()),
                (None, Some(begun)) => self.begun(begun, now),
                (None, None) => Standing::Waiting,
            };
        };
        if mark.done {
            return Standing::Updated { noted: true };
        }
        let waited = now.saturating_sub(spoke.since);
        if !spoke.settled {
            if let Some(trouble) = spoke.trouble(self.revision) {
                return Standing::Failed(trouble.reason, trouble.message.clone());
            }
            return self.until_deadline(waited, || {
                format!("not served for {} s with revision {}", waited / 1000, self.revision)
            });
        }
        if self.soak > 0 && spoke.errors > mark.errors {
            let why = format!(
                "{} instances are in ERROR with revision {}, and {} were before",
                spoke.errors, self.revision, mark.errors
            );
            return Standing::Failed(Reason::InstancesFailing, why);
        }
        if waited >= self.soak {
            Standing::Updated { noted: false }
        } else {
            Standing::Updating { again: self.soak - waited }
        }
    }

    fn begun(self, begun: &Begun, now: u64) -> Standing {
        let waited = begun.waited(now);
        if waited < self.deadline && begun.since.is_none() {
            return Standing::Waiting;
        }
        self.until_deadline(waited, || {
            let said = if begun.error.is_empty() { "" } else { ": " };
            format!("revision {} could not be applied for {} s{said}{}", self.revision, waited / 1000, begun.error)
        })
    }

    fn until_deadline(self, waited: u64, why: impl FnOnce() -> String) -> Standing {
        if waited >= self.deadline {
            Standing::Failed(Reason::DeadlineExceeded, why())
        } else {
            Standing::Updating { again: self.deadline - waited }
        }
    }
}
