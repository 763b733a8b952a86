//! `Watches`: what is watched always, and what is watched as long as somebody needs it.

use std::sync::Arc;

use broker_api::{ClusterName, graphs::keys};
use runtime_effect::kind::Kind;
use runtime_engine::demand::Demand;
use runtime_fleet::{GroupVersionKind, subscription::Subscription, watch::WatchSpec};

use crate::{conventions::CONVENTIONS, definitions::key::DefinitionKey, instances::InstanceKey};

/// What is watched always.
pub struct Fixed {
    /// RGDs.
    pub definitions: Arc<WatchSpec>,
    /// GraphRevisions.
    pub revisions: Arc<WatchSpec>,
    /// CRDs with our label.
    pub generated: Arc<WatchSpec>,
    /// That there are CRDs, whoever made them.
    pub crds: Arc<WatchSpec>,
    /// Rollouts, watched where there are spokes.
    pub rollouts: Arc<WatchSpec>,
    /// Secrets with kubeconfigs of spokes: by their role, and by their label. Watched where there are spokes.
    pub secrets: [Arc<WatchSpec>; 2],
}

impl Fixed {
    /// Secrets are in this namespace, and have this label.
    pub fn new(namespace: &str, label: &str) -> Self {
        let all = |group: &str, version: &str, kind: &str| {
            WatchSpec::all(GroupVersionKind::gvk(group, version, kind)).without_schema()
        };
        let secrets = || all("", "v1", "Secret").within(namespace);
        let crd = all("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        Self {
            definitions: Arc::new(all(keys::GROUP, "v1alpha1", "ResourceGraphDefinition")),
            revisions: Arc::new(all(keys::INTERNAL_GROUP, "v1alpha1", "GraphRevision")),
            generated: Arc::new(crd.clone().labelled(format!("{}={}", keys::OWNED, keys::TRUE))),
            crds: Arc::new(crd.without_bodies()),
            rollouts: Arc::new(all("broker.platform-mesh.io", "v1alpha1", "ResourceGraphRollout")),
            secrets: [
                Arc::new(secrets().labelled(CONVENTIONS.secrets())),
                Arc::new(secrets().labelled(format!("{label}={}", keys::TRUE))),
            ],
        }
    }
}

/// What may be needed of a kind in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// Whether it is served.
    Served(Kind),
    /// How it is served, and what its objects can hold.
    Kind(Kind),
    /// Its objects that are children of an instance.
    Children(Kind),
    /// All its objects: graphs refer to some.
    References(Kind),
    /// All its objects: they are instances.
    Instances(Kind),
}

impl Need {
    /// The watch that it takes.
    pub fn spec(&self) -> Arc<WatchSpec> {
        Arc::new(match self {
            Self::Served(kind) => WatchSpec::kind(kind.to_gvk()).without_schema(),
            Self::Kind(kind) => WatchSpec::kind(kind.to_gvk()),
            Self::Children(kind) => children(kind),
            // They are read, and never written: what they can hold is the business of whoever compiles a graph.
            Self::References(kind) => WatchSpec::all(kind.to_gvk()).without_schema(),
            Self::Instances(kind) => WatchSpec::all(kind.to_gvk()),
        })
    }
}

/// The watch of children of a kind.
pub fn children(kind: &Kind) -> WatchSpec {
    WatchSpec::all(kind.to_gvk()).without_schema().labelled(keys::APPLYSET_PART_OF)
}

/// Who needs something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// An RGD, to be compiled.
    Compiling(DefinitionKey),
    /// An RGD, for its instances.
    Serving(DefinitionKey),
    /// An RGD that is to be brought to a spoke.
    Distributing(DefinitionKey),
    /// An instance, for kinds that no graph of its names any more.
    Instance(InstanceKey),
    /// A CRD of ours, for the instances of its kind.
    Generated(ClusterName, Arc<str>),
}

/// What somebody needs: needs, each in a cluster.
pub type Needed = Demand<Holder, (ClusterName, Need), Subscription>;
