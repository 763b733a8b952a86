//! `Spread`: how many origins there are of what, and where.

use std::sync::Arc;

use broker_api::ClusterName;
use broker_core::decision::State;
use runtime_effect::kind::Kind;

/// How many origins there are of what, and where. Each list is in order, and says nothing of what there is none of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// By kind and state.
    pub states: Vec<(Arc<Kind>, State, usize)>,
    /// By consumer.
    pub consumers: Vec<(ClusterName, usize)>,
    /// By provider: those that are assigned to it, or on their way there.
    pub providers: Vec<(ClusterName, usize)>,
}

impl Spread {
    /// The same, each list in order.
    pub(super) fn in_order(mut self) -> Self {
        self.states.sort_unstable();
        self.consumers.sort_unstable();
        self.providers.sort_unstable();
        self
    }
}
