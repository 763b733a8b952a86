//! `Assigned`: what a cluster is to run.

use broker_api::graphs::rollout::Offboarding;

use super::Mark;

/// What a cluster is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// It does not get this RGD: this is done about what is there.
    Leave(Offboarding),
    /// What it runs now: its turn has not come, or nobody can tell what it runs. What somebody edits there is put right.
    Stay,
    /// This revision.
    Revision(i64),
    /// This revision, with which it does well: that is to be written on its CRD.
    Done(i64),
    /// This revision, which it had before that of a rollout that failed.
    TakenBack(i64),
}

impl Assigned {
    /// What is to be said on the CRD of the cluster, of which `held` is said. `errors`: instances that say ERROR now.
    pub fn mark(self, held: Option<&Mark>, errors: u32) -> Option<Mark> {
        let begun = |revision| Mark { revision, previous: held.map(|held| held.revision), errors, done: false };
        let of = |revision| held.filter(|held| held.revision == revision).cloned().unwrap_or_else(|| begun(revision));
        match self {
            Self::Leave(_) => None,
            Self::Stay => held.cloned(),
            Self::Revision(revision) => Some(of(revision)),
            Self::Done(revision) => Some(Mark { done: true, ..of(revision) }),
            Self::TakenBack(revision) => Some(Mark { previous: None, ..begun(revision) }),
        }
    }

    /// Whether a revision begins in a cluster of which `held` is said: what fails by now is none of its doing.
    pub fn begins(self, held: &Mark) -> bool {
        matches!(self, Self::Revision(revision) | Self::Done(revision) if revision != held.revision)
    }
}
