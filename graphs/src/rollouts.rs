//! Rollouts: which spoke gets which revision of an RGD. Without a ResourceGraphRollout all get the newest at once.

pub mod assigned;
pub mod listen;
pub mod machine;

use std::collections::BTreeMap;

use broker_api::{ClusterName, graphs::rollout::ClusterCounts};
use graphs_core::{definition::Distributed, rollout::Assigned};
use runtime_effect::memory::{Memory, Sole};
use runtime_engine::records::Records;

use crate::definitions::DefinitionKey;

/// Revisions of an RGD that some cluster runs, or is to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Those that are known: they are compiled.
    pub revisions: Vec<i64>,
    /// There are no others: all clusters were read.
    pub whole: bool,
}

/// What was decided of an RGD.
#[derive(Default)]
pub struct Record {
    /// Of writes to its rollout.
    pub memory: Memory<Sole>,
    /// What each spoke is to run.
    pub assigned: BTreeMap<ClusterName, Assigned>,
    /// What is said on the RGD.
    pub distributed: Distributed,
    /// Revisions that are run, or are to be.
    pub kept: Kept,
    /// How many clusters stand how.
    pub counts: ClusterCounts,
    /// Instances in the hub are served; `None`: that is not decided.
    pub serves_hub: Option<bool>,
    /// Clusters that an RGD which is being deleted has not left; `None`: that is not decided.
    pub leaving: Option<Vec<ClusterName>>,
}

/// What was decided, by the keys of RGDs, and those of these to look at.
pub type Rollouts = Records<DefinitionKey, Record>;
