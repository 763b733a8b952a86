//! How it stands with a cluster, as decisions see it: whether requests go through, and how it serves a kind.

use std::time::Duration;

use runtime_effect::{
    kind::Kind,
    reach::Reach,
    serving::{KindView, Serving},
};
use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    kind::KindState,
};

use crate::clusters::Clusters;

/// How long a cluster may be unreachable before anybody is told: a blip is not worth a write per object.
pub const BLIP: Duration = Duration::from_secs(5);

/// How long a newly engaged cluster may take to become known before others stop waiting for it.
pub(crate) const SETTLING: Duration = Duration::from_secs(5);

pub(crate) fn reach(cluster: &Cluster) -> Reach {
    match cluster.state() {
        ClusterState::Ready => Reach::Ready,
        ClusterState::Connecting if cluster.age() < SETTLING => Reach::Settling,
        ClusterState::Connecting => Reach::Unreachable("no connection yet".into()),
        ClusterState::Leaving => Reach::Unreachable("it is being taken out of the configuration".into()),
        // What exactly is wrong is the operators' business (log, /readyz): tenants are told the same words each time.
        ClusterState::Unreachable { since, .. } => {
            let why = "no requests go through".to_owned();
            let blip = since.elapsed() < BLIP;
            if blip { Reach::Lost(why) } else { Reach::Unreachable(why) }
        }
    }
}

/// For how many milliseconds requests have not gone through.
pub(crate) fn silence(cluster: &Cluster) -> u64 {
    let silent = match cluster.state() {
        ClusterState::Unreachable { since, .. } => since.elapsed(),
        ClusterState::Connecting => cluster.age(),
        ClusterState::Ready | ClusterState::Leaving => Duration::ZERO,
    };
    millis(silent)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Whether and how a cluster serves a kind.
pub(crate) fn serving(clusters: &Clusters, cluster: &Cluster, kind: &Kind) -> Serving {
    match cluster.kind(&kind.to_gvk()) {
        KindState::Unknown => Serving::Unknown,
        KindState::Missing => Serving::Missing,
        KindState::Found(info) => Serving::Served(KindView {
            plural: info.plural.clone(),
            namespaced: info.namespaced,
            has_status: info.has_status,
            schema: clusters.schema(cluster.name(), kind),
        }),
    }
}
