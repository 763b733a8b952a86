//! What is done when clusters come, go, or serve kinds in another way.

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    cluster::ClusterState,
    kind::{KindState, SchemaNews},
    listener::Observer,
};

use crate::graphs::Graphs;

impl Observer for Graphs {
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState) {
        if matches!(state, ClusterState::Ready | ClusterState::Leaving) {
            self.definitions.enqueue_all();
            self.instances.enqueue_of(cluster);
        }
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, schema: SchemaNews<'_>) {
        if self.kinds.take(cluster, gvk, state, schema) {
            self.definitions.kind_changed(cluster, &Kind::from(gvk));
        }
    }
}
