//! What was decided of a spoke.

use graphs_core::rollout::Assigned;

use super::Record;
use crate::{definitions::DefinitionKey, graphs::Graphs};

impl Graphs {
    /// What an RGD in a spoke is to run; `None`: that is not decided.
    pub(crate) fn assigned(&self, key: &DefinitionKey) -> Option<Assigned> {
        let assigned = |record: &mut Record| record.assigned.get(&key.cluster).copied();
        self.rollouts.with(&self.hub_key(&key.name), assigned)?
    }
}
