//! `Watches`: what the broker watches, by role.

use std::sync::Arc;

use broker_api::{Role, keys};
use broker_core::naming::leading_hash;
use runtime_effect::kind::Kind;
use runtime_fleet::{GroupVersionKind, census::Census, watch::WatchSpec};

use crate::{
    cluster_secrets::ClusterSecrets, conventions::CONVENTIONS, options::Options, secrets_namespace::namespaces,
};

/// A kind that is brokered.
#[derive(Debug, Clone)]
pub struct Brokered {
    /// Shared by the keys of all its origins.
    pub kind: Arc<Kind>,
    /// As the client has it.
    pub gvk: GroupVersionKind,
    /// Its watch, in consumers and providers.
    pub spec: Arc<WatchSpec>,
    /// Which providers hold something under the name of a copy, by the hash of its consumer.
    pub copies: Arc<Census>,
}

impl Brokered {
    /// A kind that is to be brokered.
    pub fn new(kind: Kind) -> Self {
        let gvk = kind.to_gvk();
        let copies = Census::new(|name| leading_hash(name).map(|(hash, _)| hash));
        Self { kind: Arc::new(kind), gvk: gvk.clone(), spec: Arc::new(WatchSpec::all(gvk)), copies }
    }
}

/// A kind of related resources.
#[derive(Debug, Clone)]
pub struct RelatedKind {
    /// The kind.
    pub kind: Kind,
    /// All of it, in providers, without bodies: those that somebody listens to are read.
    pub source: Arc<WatchSpec>,
    /// Ours, in consumers.
    pub target: Arc<WatchSpec>,
}

/// What is watched, by role.
#[derive(Debug, Clone)]
pub struct Watches {
    /// Brokered kinds.
    pub brokered: Vec<Brokered>,
    /// Related kinds.
    pub related: Vec<RelatedKind>,
    /// AcceptAPIs, in providers.
    pub accept_apis: Arc<WatchSpec>,
    /// Migrations, in the coordination cluster.
    pub migrations: Arc<WatchSpec>,
    /// MigrationConfigurations, in the coordination cluster.
    pub configurations: Arc<WatchSpec>,
    /// The signing key, in the coordination cluster.
    pub signing_key: Arc<WatchSpec>,
    /// The copy of the signing key, in the coordination cluster.
    pub signing_backup: Arc<WatchSpec>,
    /// Cluster Secrets, in the coordination cluster, by namespace.
    pub cluster_secrets: Vec<ClusterSecrets>,
}

/// The kind `Secret`.
pub fn secret() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "Secret")
}

impl Watches {
    /// What a broker with these options watches; `namespace` is that of its own objects.
    pub(crate) fn new(options: &Options, namespace: &str) -> Self {
        let brokered: Vec<Brokered> = options.watch_kind.iter().map(|flag| Brokered::new(flag.0.clone())).collect();
        let ours = format!("{}={}", keys::MANAGED_BY, keys::MANAGER);
        let related = options.related_kind.iter().map(|flag| RelatedKind {
            kind: flag.0.clone(),
            // One that is brokered as well is watched whole for that, and one watch tells of it.
            source: brokered.iter().find(|brokered| *brokered.kind == flag.0).map_or_else(
                || Arc::new(WatchSpec::all(flag.0.to_gvk()).without_bodies()),
                |one| Arc::clone(&one.spec),
            ),
            target: Arc::new(WatchSpec::all(flag.0.to_gvk()).labelled(ours.clone())),
        });
        let secrets = namespaces(&options.cluster_secrets_namespace).into_iter().map(|(namespace, roles)| {
            let spec = WatchSpec::all(secret()).within(&namespace).labelled(CONVENTIONS.secrets());
            ClusterSecrets { namespace, roles, spec: Arc::new(spec) }
        });
        let own = |kind| Arc::new(WatchSpec::all(GroupVersionKind::gvk(keys::GROUP, "v1alpha1", kind)));
        Self {
            related: related.collect(),
            brokered,
            accept_apis: own("AcceptAPI"),
            migrations: own("Migration"),
            configurations: own("MigrationConfiguration"),
            signing_key: Arc::new(WatchSpec::all(secret()).within(namespace).named(keys::SIGNING_KEY_SECRET)),
            signing_backup: Arc::new(WatchSpec::all(secret()).within(namespace).named(keys::SIGNING_KEY_BACKUP)),
            cluster_secrets: secrets.collect(),
        }
    }

    /// The cluster Secrets of a namespace.
    pub fn secrets_of(&self, namespace: &str) -> Option<&ClusterSecrets> {
        self.cluster_secrets.iter().find(|secrets| secrets.namespace == namespace)
    }

    /// The brokered kind of a watch.
    pub fn brokered_by(&self, spec: &WatchSpec) -> Option<&Brokered> {
        self.brokered.iter().find(|brokered| *brokered.spec == *spec)
    }

    /// The watch that sees objects of this kind in this role.
    pub fn spec_of(&self, role: Role, kind: &Kind) -> Option<&Arc<WatchSpec>> {
        let brokered = self.brokered.iter().find(|brokered| *brokered.kind == *kind).map(|brokered| &brokered.spec);
        let related = self.related.iter().find(|related| related.kind == *kind);
        match role {
            Role::Consumer => brokered.or(related.map(|related| &related.target)),
            Role::Coordination => Some(&self.migrations).filter(|spec| spec.gvk == kind.to_gvk()),
            Role::Provider => brokered.or(related.map(|related| &related.source)),
            // What stages make is watched as long as one needs it; a spoke is not the broker's.
            Role::Compute | Role::Spoke => None,
        }
    }
}
