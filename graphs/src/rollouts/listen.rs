//! From what happens to ResourceGraphRollouts to the RGDs that they are of. Only looks up and enqueues.

use std::sync::{Arc, Weak};

use runtime_fleet::{
    fleet::Fleet,
    index::{Change, Index},
    listener::{ClusterSelector, Listener},
    subscription::Subscription,
};

use crate::{definitions::DefinitionKey, graphs::Graphs};

/// Listens to all rollouts.
pub fn listen(graphs: &Arc<Graphs>, fleet: &Arc<Fleet>) -> Subscription {
    let hub = ClusterSelector::Name(graphs.hub.clone());
    fleet.listen(&hub, &graphs.fixed.rollouts, &Arc::new(Rollouts(Arc::downgrade(graphs))))
}

struct Rollouts(Weak<Graphs>);

impl Listener for Rollouts {
    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.0.upgrade() else { return };
        graphs.rollouts.enqueue(DefinitionKey { cluster: index.cluster().clone(), name: Arc::clone(&change.key.name) });
    }

    fn listed(&self, _index: &Index, _change: &Change) {}

    fn completed(&self, _index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.look_at_rollouts();
        }
    }
}

impl Graphs {
    /// Looks at the rollouts of all RGDs, and at those whose RGD is not there.
    pub(crate) fn look_at_rollouts(&self) {
        for key in self.definitions.known() {
            self.rollouts.enqueue(key);
        }
        let hub = self.fleet().cluster(&self.hub);
        let Some(rollouts) = hub.and_then(|hub| hub.index(&self.fixed.rollouts)) else { return };
        for (key, _) in rollouts.snapshot() {
            self.rollouts.enqueue(self.hub_key(&key.name));
        }
    }
}
