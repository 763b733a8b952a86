//! `Look`: what a decision on one RGD in one spoke is made on.

use broker_api::graphs::keys;
use graphs_core::{
    crd::Owner,
    definition,
    distribution::{self, Decision, Snapshot, Subject, Write},
    rollout::{Assigned, Mark},
};
use runtime_effect::{kind::Kind, seen::Seen, view::View, write::Op};

use crate::{
    compiled::Compiled, conventions::KRO_VERSION, definitions::DefinitionKey, graphs::Graphs, instances::generated,
};

/// What one decision is made on.
pub(super) struct Look<'a> {
    pub(super) graphs: &'a Graphs,
    pub(super) key: &'a DefinitionKey,
    pub(super) rgd: &'a View,
    pub(super) crd: &'a Seen,
    pub(super) hub: &'a str,
    /// What the CRD says.
    pub(super) held: Option<Mark>,
    /// Kinds that other RGDs are just bringing here.
    pub(super) coming: &'a [Kind],
}

impl Look<'_> {
    /// What is to be done to bring this revision here.
    pub(super) fn decide(&self, mark: &Mark, compiled: &Compiled) -> Decision {
        let missing: Vec<Kind> = self.graphs.kinds.missing(&self.key.cluster, &compiled.kinds);
        let is_known = |kind: &Kind| self.graphs.kinds.is_known(&self.key.cluster, kind);
        // It has just been asked for them. What is there already stays, whatever the answer.
        let is_there = self.held.as_ref().is_some_and(|held| held.revision == mark.revision);
        if !is_there && missing.is_empty() && !compiled.kinds.iter().all(is_known) {
            return Decision::Unknown;
        }
        if !is_there && missing.iter().any(|kind| self.coming.contains(kind)) {
            return Decision::Unknown;
        }
        distribution::decide(&Snapshot {
            crd: self.crd,
            wanted: &compiled.definition.crd,
            owner: Owner { name: &self.key.name, uid: &self.rgd.uid, version: KRO_VERSION },
            hub: self.hub,
            mark,
            allow_breaking: self.rgd.annotated_true(keys::ALLOW_BREAKING_CHANGES),
            missing: &missing,
        })
    }

    /// How many instances were not read yet that a revision, which begins, would be blamed for; `None`: they are not listed.
    pub(super) fn unread(&self, assigned: Assigned) -> Option<u32> {
        let held = self.crd.present().filter(|held| definition::is_established(held));
        let (Some(mark), Some(crd)) = (&self.held, held) else { return Some(0) };
        if !assigned.begins(mark) {
            return Some(0);
        }
        self.graphs.unread(self.key, generated::kind_of(&crd.value)?)
    }

    /// The write of its CRD.
    pub(super) fn write(&self, name: &str, op: Op, intent: [u8; 8]) -> Write {
        Write {
            cluster: self.key.cluster.clone(),
            kind: Kind::from(&self.graphs.fixed.crds.gvk),
            namespace: String::new(),
            name: name.to_owned(),
            intent,
            op,
            subject: Subject::CustomResource,
            notes: Vec::new(),
        }
    }
}
