//! `Member`: a cluster, as a rollout sees it.

use std::collections::BTreeMap;

use broker_api::{
    ClusterName,
    graphs::{keys, rollout::Offboarding},
};

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
        /// In one word.
        reason: Reason,
        /// For people.
        message: String,
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
    /// Since when that is so, or is not so, in milliseconds by the steady clock, as far as this process knows.
    pub since: u64,
    /// Instances in ERROR now.
    pub errors: u32,
    /// The RGD has left it in this way: nothing is to be done there any more.
    pub left: Option<Offboarding>,
    /// Revisions that could not be brought there when it was last tried, as things still are.
    pub troubles: Vec<Trouble>,
    /// The revision that is being brought there, and does not get there.
    pub begun: Option<Begun>,
}

/// A revision that is to be written, and is not yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Begun {
    /// Which.
    pub revision: i64,
    /// Since when it is the cluster's turn, in milliseconds by the steady clock, as far as this process knows; `None`: it is
    /// not now.
    pub since: Option<u64>,
    /// For so many milliseconds it was the cluster's turn before.
    pub before: u64,
    /// What the API server answered last, if that was no good.
    pub error: String,
}

impl Begun {
    /// It is the cluster's turn now, or it is not.
    pub fn turn(&mut self, is_now: bool, now: u64) {
        if !is_now {
            self.before = self.waited(now);
        }
        self.since = is_now.then(|| self.since.unwrap_or(now));
    }

    /// For how many milliseconds it has been the cluster's turn.
    pub fn waited(&self, now: u64) -> u64 {
        self.before + self.since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// What is written on the CRD of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The revision that it runs.
    pub revision: i64,
    /// The one that it ran before; none after that was taken back.
    pub previous: Option<i64>,
    /// Instances in ERROR when it got this one: they are not its fault.
    pub errors: u32,
    /// It was found to do well with this revision: whatever happens later has other causes.
    pub done: bool,
}

/// Why a revision cannot be brought to a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The revision.
    pub revision: i64,
    /// In one word.
    pub reason: Reason,
    /// For people.
    pub message: String,
}

impl Spoke {
    /// What it runs, if that is this revision.
    pub(super) fn runs(&self, revision: i64) -> Option<&Mark> {
        self.mark.as_ref().filter(|mark| mark.revision == revision)
    }

    /// Since when this revision is on its way there.
    pub(super) fn begun(&self, revision: i64) -> Option<&Begun> {
        self.begun.as_ref().filter(|begun| begun.revision == revision)
    }

    pub(super) fn trouble(&self, revision: i64) -> Option<&Trouble> {
        self.troubles.iter().find(|trouble| trouble.revision == revision)
    }
}

impl Member {
    /// Whether it is to be let go.
    pub(super) fn is_leaving(&self) -> bool {
        self.labels.get(keys::OFFBOARD).is_some_and(|value| value == keys::TRUE)
    }

    pub(super) fn spoke(&self) -> Option<&Spoke> {
        match &self.reach {
            Reach::Reached(spoke) => Some(spoke),
            Reach::Unreachable { .. } => None,
        }
    }

    /// What it ran before it was brought to `target`, unless the way back is barred.
    pub(super) fn returns_to(&self, target: i64) -> Option<i64> {
        let spoke = self.spoke()?;
        let previous = spoke.runs(target)?.previous?;
        spoke.trouble(previous).is_none().then_some(previous)
    }
}
