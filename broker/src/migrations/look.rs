//! From what indexes hold to what decisions look at, for Migrations and all around them.

use std::sync::Arc;

use broker_api::Role;
use broker_core::migration::configuration::is_system;
use runtime_effect::reach::Reach;
use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    kind::KindState,
    watch::WatchSpec,
};

use crate::{broker::Broker, reach::BLIP};

/// How it stands with the compute cluster. Other than the clusters of origins (`crate::reach`), it is settling for as long as
/// there is no connection yet.
pub fn compute_reach(cluster: &Cluster) -> Reach {
    match cluster.state() {
        ClusterState::Ready => Reach::Ready,
        ClusterState::Connecting => Reach::Settling,
        ClusterState::Leaving => Reach::Unreachable("it is being taken out of the configuration".into()),
        // A blip is not worth a write per Migration.
        ClusterState::Unreachable { since, why, .. } if since.elapsed() < BLIP => Reach::Lost(why),
        ClusterState::Unreachable { why, .. } => Reach::Unreachable(why),
    }
}

impl Broker {
    /// The coordination cluster.
    pub(crate) fn hub(&self) -> Option<Arc<Cluster>> {
        self.fleet().the(Role::Coordination)
    }

    /// The cluster where stages run.
    pub(crate) fn compute(&self) -> Option<Arc<Cluster>> {
        if self.options.compute_kubeconfig.is_none() {
            return self.hub();
        }
        self.fleet().the(Role::Compute)
    }

    /// Whether all objects of a watch in the coordination cluster are known. A kind that is not installed there has none.
    pub(crate) fn hub_knows(&self, spec: &WatchSpec) -> bool {
        self.hub().is_some_and(|hub| {
            hub.kind(&spec.gvk) == KindState::Missing || hub.index(spec).is_some_and(|index| index.is_complete())
        })
    }

    /// Whether no Migration may be in a namespace of the coordination cluster: it holds what stages must not come near (the
    /// cluster's own objects, kubeconfigs, the signing key), or Migrations have other ones. Consumers choose the names of
    /// their namespaces.
    pub(crate) fn is_reserved(&self, namespace: &str) -> bool {
        is_system(namespace)
            || namespace == self.namespace
            || self.watches.secrets_of(namespace).is_some()
            || !self.options.migrates_in(namespace)
    }
}
