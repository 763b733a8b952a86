//! `Member`: a cluster, as a rollout sees it.

use std::collections::BTreeMap;

use broker_api::ClusterName;

use super::standing::Reason;

/// A cluster, as a rollout sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub cluster: ClusterName,
    /// Labels of its Secret.
    pub labels: BTreeMap<String, String>,
    /// What can be told of it.
    pub reach: Reach,
}

/// What can be told of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Nothing: what was there is there still, for all that is known.
    Unreachable {
        /// Why.
        trouble: Trouble,
        /// Since when, in milliseconds by the steady clock, as far as this process knows.
        since: u64,
    },
    /// This.
    Reached(Spoke),
}

/// What is seen of a cluster that is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spoke {
    /// What it runs; `None`: there is no CRD of ours.
    pub mark: Option<Mark>,
    /// The CRD is Established, and its instances are watched.
    pub settled: bool,
    /// Instances in ERROR now.
    pub errors: u32,
    /// Why it cannot be brought to what it is to run. Known once that was tried.
    pub trouble: Option<Trouble>,
}

/// What is written on the CRD of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The revision that it runs.
    pub revision: i64,
    /// The one that it ran before.
    pub previous: Option<i64>,
    /// When it was written, in milliseconds by the steady clock.
    pub at: u64,
    /// Instances in ERROR then.
    pub errors: u32,
    /// It has soaked.
    pub soaked: bool,
    /// The revision of a rollout that failed, from which it was taken back.
    pub taken_back: Option<i64>,
}

/// What is wrong with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// In one word.
    pub reason: Reason,
    /// For people.
    pub message: String,
}

impl Member {
    /// What it runs, if that is known and something of ours.
    pub fn mark(&self) -> Option<&Mark> {
        match &self.reach {
            Reach::Reached(spoke) => spoke.mark.as_ref(),
            Reach::Unreachable { .. } => None,
        }
    }

    pub(super) fn is_reached(&self) -> bool {
        matches!(self.reach, Reach::Reached(_))
    }

    /// Whether it was taken back from a revision.
    pub(super) fn gave_up(&self, target: i64) -> bool {
        self.mark().is_some_and(|mark| mark.taken_back == Some(target) && mark.revision != target)
    }

    /// What it ran before it was brought to `target`, unless the way back breaks its instances.
    pub(super) fn returns_to(&self, target: i64) -> Option<i64> {
        let Reach::Reached(spoke) = &self.reach else { return None };
        let mark = spoke.mark.as_ref().filter(|mark| mark.revision == target)?;
        let breaks = spoke.trouble.as_ref().is_some_and(|trouble| trouble.reason == Reason::BreakingChange);
        mark.previous.filter(|previous| !breaks && *previous != target)
    }
}
