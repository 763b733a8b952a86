//! `Echo`: what watches tell of a write before its answer comes.
//!
//! API servers tell watches at about the time at which they answer. Whoever writes goes by the answer; told of the same
//! version a moment earlier it would be looked at once more for nothing.

use std::sync::Arc;

use broker_api::ClusterName;

use crate::{
    index::{Change, Index},
    object::ObjectKey,
    watch::WatchSpec,
};

/// What is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeingWritten {
    /// Where.
    pub cluster: ClusterName,
    /// The watch that sees the object.
    pub spec: Arc<WatchSpec>,
    /// Which object.
    pub object: ObjectKey,
    /// Nothing but its status: it asks for what it asked for before.
    pub only_status: bool,
}

impl BeingWritten {
    fn is_of(&self, index: &Index, change: &Change) -> bool {
        self.object == change.key && self.cluster == *index.cluster() && self.spec == *index.spec()
    }

    /// Whether a change is another one than the write, which has made this version of the object. A schema that has come to
    /// have a default shows it with the write.
    pub(super) fn is_news(&self, change: &Change, version: Option<u64>) -> bool {
        change.new.as_ref().map(|new| new.resource_version) != version || self.only_status && change.asks_otherwise()
    }
}

/// What is written for one key right now, and what watches have told of it meanwhile.
#[derive(Debug, Default)]
pub(super) struct Echoes(Vec<(BeingWritten, Vec<Change>)>);

impl Echoes {
    pub(super) fn expect(&mut self, written: BeingWritten) {
        self.0.push((written, Vec::new()));
    }

    /// Takes in what a watch tells of something that is being written. False: it is news.
    pub(super) fn hear(&mut self, index: &Index, change: &Change) -> bool {
        let of = self.0.iter_mut().find(|(written, _)| change.new.is_some() && written.is_of(index, change));
        let Some((_, told)) = of else { return false };
        told.push(change.clone());
        true
    }

    /// It is written no more. What was told meanwhile.
    pub(super) fn end(&mut self, written: &BeingWritten) -> Vec<Change> {
        let at = self.0.iter().position(|(other, _)| other == written);
        at.map(|at| self.0.swap_remove(at).1).unwrap_or_default()
    }
}
