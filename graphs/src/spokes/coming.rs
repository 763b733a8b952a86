//! Kinds that a revision needs and that another RGD is just bringing to the same spoke: they are waited for, and no failure.

use graphs_core::rollout::Assigned;
use runtime_effect::kind::Kind;

use crate::{definitions::DefinitionKey, graphs::Graphs};

impl Graphs {
    /// Those of the kinds that a revision needs which the spoke lacks, and which another RGD is just bringing there.
    pub(super) fn coming(&self, key: &DefinitionKey, assigned: Option<Assigned>) -> Vec<Kind> {
        let Some(Assigned::Revision(revision) | Assigned::TakenBack(revision)) = assigned else { return Vec::new() };
        let Some((_, compiled)) = self.compiled_revision(key, revision) else { return Vec::new() };
        let mut missing = self.kinds.missing(&key.cluster, &compiled.kinds);
        missing.retain(|kind| self.is_coming(key, kind));
        missing
    }

    /// Whether an RGD is just bringing this kind to the spoke of `key`.
    fn is_coming(&self, key: &DefinitionKey, kind: &Kind) -> bool {
        let defines = |other: &DefinitionKey| {
            let newest = self.newest_revision(other);
            newest.is_some_and(|(_, compiled)| Kind::from(&compiled.graph.kind) == *kind) && other.name != key.name
        };
        self.definitions.known().into_iter().filter(defines).any(|other| {
            let there = DefinitionKey { cluster: key.cluster.clone(), name: other.name };
            let is_begun = matches!(self.assigned(&there), Some(Assigned::Revision(_) | Assigned::TakenBack(_)));
            is_begun && !self.spokes.is_in_trouble(&there)
        })
    }
}
