//! What is done when clusters come, go, or serve kinds in another way.

use broker_api::{ClusterName, Role};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    cluster::{Cause, ClusterState, Labels},
    kind::{KindState, SchemaNews},
    listener::Observer,
};

use crate::{
    graphs::Graphs,
    watches::{Holder, Need},
};

impl Observer for Graphs {
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState) {
        if cluster.role() == Role::Spoke {
            self.spokes.state(cluster, state);
            self.spokes.records.lose(cluster);
            if *state == ClusterState::Leaving {
                self.kinds.forget(cluster);
            }
            self.clusters.enqueue(cluster);
            let is_none = match state {
                ClusterState::Leaving => true,
                ClusterState::Unreachable { cause, .. } => *cause != Cause::Lost,
                ClusterState::Connecting | ClusterState::Ready => false,
            };
            if is_none {
                self.definitions.records.forget_pending();
                self.definitions.enqueue_all();
            }
            self.look_at_rollouts();
            self.look_at_all_in(cluster);
        }
        if matches!(state, ClusterState::Ready | ClusterState::Leaving) {
            self.definitions.enqueue_all();
            self.instances.enqueue_of(cluster);
            if *cluster == self.hub {
                // By what it is told from other hubs may be known only now.
                self.look_at_rollouts();
            }
        }
    }

    fn labels(&self, _cluster: &ClusterName, _labels: Option<&Labels>) {
        self.look_at_rollouts();
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, schema: SchemaNews<'_>) {
        if !self.kinds.take(cluster, gvk, state, schema) {
            return;
        }
        let kind = Kind::from(gvk);
        if *cluster == self.hub && *gvk == self.fixed.rollouts.gvk {
            self.look_at_rollouts();
        }
        if *cluster == self.hub || self.kinds.is_missing(&self.hub, &kind) {
            self.definitions.kind_changed(&self.hub, &kind);
        }
        for holder in self.needed.holders(&(cluster.clone(), Need::Served(kind))) {
            if let Holder::Distributing(key) = holder {
                self.spokes.enqueue(key);
            }
        }
    }
}
