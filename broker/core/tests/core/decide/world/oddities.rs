//! What the world is like only now and then.

use std::cell::RefCell;

use broker_api::ClusterName;
use broker_core::{
    decide::{Asked, explain},
    decision::Decision,
    snapshot::Snapshot,
};

#[derive(Default)]
pub(crate) struct Oddities {
    /// The broker has much else to do.
    pub(crate) busy: bool,
    /// Why the broker cannot see what is at the providers.
    pub(crate) trouble: Option<String>,
    /// It is not known which related objects there are in the consumer.
    pub(crate) targets_unknown: bool,
    /// Providers whose answer to the making of a copy was lost.
    pub(crate) hidden: Vec<ClusterName>,
    /// It is a person who asks what would be done.
    pub(crate) asked: bool,
    /// What that person was told last of the AcceptAPIs.
    pub(crate) told: RefCell<Vec<Asked>>,
}

impl Oddities {
    pub(crate) fn answer(&self, snapshot: &Snapshot<'_>) -> Decision {
        let explanation = explain(snapshot);
        self.told.replace(explanation.asked);
        explanation.decision
    }
}
