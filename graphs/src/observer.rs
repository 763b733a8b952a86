//! What is done when clusters come, go, or serve kinds in another way.

use broker_api::{ClusterName, Role};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    cluster::{Cause, ClusterState, Labels},
    kind::{KindState, SchemaNews},
    listener::Observer,
    watch::WatchSpec,
};

use crate::{
    graphs::Graphs,
    watches::{Holder, Need},
};

impl Observer for Graphs {
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState) {
        let leaves = *state == ClusterState::Leaving;
        if cluster.role() == Role::Spoke {
            self.spokes.state(cluster, state);
            self.spokes.lose(cluster);
            if leaves {
                self.kinds.forget(cluster);
            }
            self.clusters.enqueue(cluster.clone());
            let is_another = matches!(state, ClusterState::Unreachable { cause, .. } if *cause != Cause::Lost);
            if leaves || is_another {
                self.definitions.forget_pending();
            }
            if is_another {
                self.definitions.enqueue_all();
            }
            self.look_at_rollouts();
            self.look_at_all_in(cluster);
        }
        if leaves || *state == ClusterState::Ready {
            self.definitions.enqueue_all();
            self.instances.enqueue_of(cluster);
            if *cluster == self.hub {
                // By what it is told from other hubs may be known only now.
                self.look_at_rollouts();
            }
        }
    }

    fn incomplete(&self, cluster: &ClusterName, spec: &WatchSpec) {
        if cluster.role() == Role::Spoke
            && [&self.fixed.generated, &self.fixed.crds].iter().any(|crds| ***crds == *spec)
        {
            self.spokes.doubt(cluster);
            self.look_at_rollouts();
        }
        if let Some(watch) = self.fixed.secrets.iter().position(|secrets| **secrets == *spec) {
            self.clusters.lost(watch);
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

#[cfg(test)]
mod tests {
    use runtime_fleet::source::Provenance;
    use tokio::time::Instant;

    use super::*;

    /// Another process may have added some.
    #[tokio::test]
    async fn which_spokes_there_are_is_known_while_all_secrets_are() {
        let graphs = Graphs::alone();
        graphs.clusters.listed(0);
        assert!(!graphs.clusters.are_known());
        graphs.clusters.listed(1);
        assert!(graphs.clusters.are_known());
        let hub = graphs.hub.clone();
        graphs.incomplete(&hub, &graphs.fixed.rollouts);
        assert!(graphs.clusters.are_known());
        graphs.incomplete(&hub, &graphs.fixed.secrets[1]);
        assert!(!graphs.clusters.are_known());
        let (from, spoke) = (Provenance::File("paris".into()), ClusterName::spoke("paris"));
        graphs.clusters.configured(&spoke, &from, "u".into());
        let before = graphs.clusters.queue().stats().adds;
        graphs.clusters.listed(1);
        assert_eq!(graphs.clusters.queue().stats().adds - before, 1, "what is written on its Secret is known again");
    }

    #[tokio::test]
    async fn when_a_spoke_leaves_each_rgd_is_looked_at_once() {
        let graphs = Graphs::alone();
        let _record = graphs.definitions.of(&graphs.hub_key(&"web".into()));
        let lost = |cause| ClusterState::Unreachable { cause, why: String::new(), since: Instant::now() };
        let spoke = ClusterName::spoke("paris");
        for (state, looks) in [
            (ClusterState::Leaving, 1),
            (lost(Cause::Duplicate), 1),
            (lost(Cause::Lost), 0),
            (ClusterState::Connecting, 0),
            (ClusterState::Ready, 1),
        ] {
            let before = graphs.definitions.queue().stats().adds;
            graphs.cluster(&spoke, &state);
            assert_eq!(graphs.definitions.queue().stats().adds - before, looks, "{state:?}");
        }
    }
}
