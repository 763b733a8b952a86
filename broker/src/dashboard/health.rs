//! `Health`: how it stands with a cluster, in one word, as the metrics have it.

use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    lag::Lag,
};

use super::age::Age;

/// See the module. What needs a look comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Health {
    /// Requests do not go through.
    Unreachable,
    /// It does not tell what it should.
    Lagging,
    /// It is being taken out of the configuration.
    Leaving,
    /// There is no connection yet.
    Connecting,
    /// All is well.
    Ready,
}

impl Health {
    /// Of a cluster, and what is wrong with it, if anything is.
    pub(super) fn of(cluster: &Cluster) -> (Self, String) {
        match cluster.state() {
            ClusterState::Unreachable { since, why, .. } => {
                (Self::Unreachable, format!("for {}: {why}", Age(since.elapsed())))
            }
            ClusterState::Connecting => (Self::Connecting, String::new()),
            ClusterState::Leaving => (Self::Leaving, String::new()),
            ClusterState::Ready => {
                let lagging = cluster.indexes().iter().find_map(|index| match cluster.lag(index) {
                    Lag::Lagging(why) => Some(format!("{}: {why}", index.spec().gvk.kind)),
                    Lag::Known | Lag::Coming => None,
                });
                lagging.map_or((Self::Ready, String::new()), |why| (Self::Lagging, why))
            }
        }
    }

    /// The word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Unreachable => "Unreachable",
            Self::Lagging => "Lagging",
            Self::Leaving => "Leaving",
            Self::Connecting => "Connecting",
            Self::Ready => "Ready",
        }
    }
}
