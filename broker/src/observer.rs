//! Who is concerned when clusters come, go, or change their state, and what is held of their kinds.

use broker_api::{ClusterName, Role};
use runtime_effect::{interest::Interest, kind::Kind};
use runtime_fleet::{
    GroupVersionKind,
    cluster::{ClusterState, Labels},
    index::Index,
    kind::{KindState, SchemaNews},
    listener::Observer,
    object::ObjectKey,
    watch::WatchSpec,
};

use crate::broker::Broker;

/// An object of an index, as those who listen to it name it.
pub(crate) fn interest(index: &Index, key: &ObjectKey) -> Interest {
    Interest {
        cluster: index.cluster().clone(),
        kind: Kind::from(&index.spec().gvk),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    }
}

impl Observer for Broker {
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState) {
        if let ClusterState::Unreachable { why, .. } = state {
            self.tell_of_unreachable(cluster, why);
        }
        match cluster.role() {
            Role::Consumer => {
                self.clusters.note_consumer(cluster, *state != ClusterState::Leaving);
                self.origins.enqueue_consumer(cluster, None);
            }
            Role::Provider => {
                self.origins.identities.look_at(cluster, || Some(self.fleet().cluster(cluster)?.server().identity()));
                self.resettle(cluster, None);
                self.origins.enqueue_concerned(cluster, None);
                if matches!(state, ClusterState::Ready) {
                    self.enqueue_stranded(cluster, None);
                    self.look_after_provider(cluster);
                }
                self.migrations.cluster_moved(cluster);
            }
            Role::Coordination | Role::Compute => self.hub_state(state),
            // A label of that sort makes no cluster here.
            Role::Spoke => {}
        }
        self.intake.tell();
    }

    fn labels(&self, cluster: &ClusterName, _labels: Option<&Labels>) {
        if cluster.role() == Role::Consumer {
            self.origins.enqueue_consumer(cluster, None);
        }
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState, schema: SchemaNews<'_>) {
        self.clusters.set_schema(cluster, gvk, schema);
        self.intake.tell();
    }

    fn completed(&self, _cluster: &ClusterName, spec: &WatchSpec) {
        self.intake.tell();
        if *spec == *self.watches.migrations {
            self.origins.enqueue_each(self.origins.records.moving_or_restless());
        }
    }

    fn incomplete(&self, _cluster: &ClusterName, spec: &WatchSpec) {
        if self.watches.cluster_secrets.iter().any(|secrets| *secrets.spec == *spec) {
            self.clusters.departures.secrets_lost();
        }
    }
}
