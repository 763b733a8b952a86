//! `Standing`: how far a cluster is.

use std::fmt;

use super::member::{Member, Reach};

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
    Updated,
    /// The same, and it is to be written down that it has soaked.
    Soaked,
    /// It has not been reached for less than the deadline.
    Unreachable {
        /// Milliseconds until that.
        again: u64,
    },
    /// It does not run what it should, or not well.
    Failed(Reason, String),
}

impl Standing {
    /// Whether nothing is waited for.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Updated | Self::Soaked | Self::Failed(..))
    }

    /// Whether it counts as one that may be under way at a time.
    pub(super) fn is_unavailable(&self) -> bool {
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
            Reach::Unreachable { trouble, since } => {
                let waited = now.saturating_sub(*since);
                let is_gone = trouble.reason != Reason::Unreachable || waited >= self.deadline;
                return if is_gone {
                    Standing::Failed(trouble.reason, trouble.message.clone())
                } else {
                    Standing::Unreachable { again: self.deadline - waited }
                };
            }
            Reach::Reached(spoke) => spoke,
        };
        let Some(mark) = spoke.mark.as_ref().filter(|mark| mark.revision == self.revision) else {
            return match &spoke.trouble {
                Some(trouble) => Standing::Failed(trouble.reason, trouble.message.clone()),
                None if member.gave_up(self.revision) => {
                    let why = format!("it was taken back from revision {}", self.revision);
                    Standing::Failed(Reason::InstancesFailing, why)
                }
                None => Standing::Waiting,
            };
        };
        if let Some(trouble) = &spoke.trouble {
            return Standing::Failed(trouble.reason, trouble.message.clone());
        }
        // A clock that was set back starts it over.
        let waited = now.saturating_sub(mark.at);
        if !spoke.settled {
            return if waited >= self.deadline {
                let why = format!("not served for {} s since it got revision {}", waited / 1000, self.revision);
                Standing::Failed(Reason::DeadlineExceeded, why)
            } else {
                Standing::Updating { again: self.deadline - waited }
            };
        }
        if self.soak == 0 || mark.soaked {
            return Standing::Updated;
        }
        if spoke.errors > mark.errors {
            let why = format!(
                "{} instances are in ERROR with revision {}, and {} were before",
                spoke.errors, self.revision, mark.errors
            );
            return Standing::Failed(Reason::InstancesFailing, why);
        }
        if waited >= self.soak { Standing::Soaked } else { Standing::Updating { again: self.soak - waited } }
    }
}
