//! From what happens to CRDs in spokes to the RGDs there that it concerns. Only looks up and enqueues.

use std::sync::{Arc, Weak};

use broker_api::{ClusterName, Role};
use runtime_fleet::{
    fleet::Fleet,
    index::{Change, Index},
    listener::{ClusterSelector, Listener},
    subscription::Subscription,
};

use crate::{
    definitions::{DefinitionKey, listen::Crds},
    graphs::Graphs,
};

/// Listens to CRDs of all spokes.
pub fn listen(graphs: &Arc<Graphs>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let spokes = ClusterSelector::Role(Role::Spoke);
    let fixed = &graphs.fixed;
    vec![
        fleet.listen(&spokes, &fixed.generated, &Arc::new(Generated(Arc::downgrade(graphs)))),
        fleet.listen(&spokes, &fixed.crds, &Arc::new(Crds(Arc::downgrade(graphs)))),
    ]
}

/// CRDs of graphs controllers, whichever.
struct Generated(Weak<Graphs>);

impl Listener for Generated {
    fn changed(&self, index: &Index, change: &Change) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.look_at_spoke(index.cluster(), &change.key.name);
        }
    }

    /// All are looked at once, when they are known.
    fn listed(&self, _index: &Index, _change: &Change) {}

    fn completed(&self, index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.spokes.read(index.cluster());
            graphs.look_at_all_in(index.cluster());
        }
    }
}

impl Graphs {
    /// A CRD of a spoke changed.
    pub(crate) fn look_at_spoke(&self, cluster: &ClusterName, crd: &str) {
        for DefinitionKey { name, .. } in self.definitions.of_crd(crd) {
            self.spokes.enqueue(DefinitionKey { cluster: cluster.clone(), name });
        }
    }

    /// Looks at all RGDs in a spoke.
    pub(crate) fn look_at_all_in(&self, cluster: &ClusterName) {
        for DefinitionKey { name, .. } in self.definitions.known() {
            self.spokes.enqueue(DefinitionKey { cluster: cluster.clone(), name });
        }
    }
}
