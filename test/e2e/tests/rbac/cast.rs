//! Clusters whose owners applied the files of `config/rbac`.

use std::collections::HashMap;

use e2e::{
    Place, World,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION},
    world::{edge, place},
};
use harness::{ClusterOptions, Mark};

use crate::{kubeconfig, operator::TEAM, owner::Owner, pair::Pair};

/// A provider whose owner applied provider.yaml only.
pub(crate) const ARIADNE: &str = "ariadne";

/// What the coordination cluster is called.
pub(crate) const COORDINATION: &str = "coordination";

/// How long Migrations are kept: long enough to be looked at.
pub(crate) const MIGRATION_TTL: &str = "5s";

/// What the coordination cluster is like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hub {
    /// Brokers come from elsewhere, and stages run in another cluster.
    Alone,
    /// The operator is there, and stages run there, too.
    WithOperator,
}

/// All clusters.
pub(crate) struct Cast {
    /// The lab, and the coordination cluster.
    pub(crate) world: World,
    /// The brokers' own namespace in the coordination cluster.
    pub(crate) own: &'static str,
    /// The compute cluster.
    pub(crate) compute: Place,
    /// A consumer.
    pub(crate) homer: Place,
    /// A provider whose owner applied provider.yaml.
    pub(crate) ariadne: Place,
    /// A provider whose owner applied provider-namespaces.yaml, too, and installs the CRD of Certificates late.
    pub(crate) theseus: Place,
    from: HashMap<String, Mark>,
}

impl Cast {
    /// Starts the clusters, and applies in each what its owner applies.
    pub(crate) async fn start(hub: Hub) -> Self {
        let mut world = World::real(&[], &[], &[]).await;
        // With a controller manager, which fills token Secrets; with what the operator deploys, and what migrations make.
        let workloads = vec!["apps/v1", "batch/v1", "policy/v1"];
        let options = ClusterOptions { controller_manager: true, workloads, ..ClusterOptions::default() };
        let (coordination, homer, ariadne, theseus) = tokio::join!(
            place(&world.lab, COORDINATION, &options, &[]),
            edge(&world.lab, "homer", &[CERTIFICATE]),
            edge(&world.lab, ARIADNE, &[ACCEPT_API, CERTIFICATE]),
            edge(&world.lab, "theseus", &[ACCEPT_API]),
        );
        world.hub = coordination;
        let (own, compute) = match hub {
            Hub::Alone => ("resource-broker-system", place(&world.lab, "compute", &options, &[]).await),
            Hub::WithOperator => (TEAM, world.hub.clone()),
        };
        let mut cast = Self { world, own, compute, homer, ariadne, theseus, from: HashMap::new() };
        match hub {
            Hub::Alone => {
                cast.world.hub.apply(&format!("{}\n---\n{}", MIGRATION.crd(), MIGRATION_CONFIGURATION.crd())).await;
                cast.owner(&cast.world.hub).apply("rbac/coordination.yaml");
                cast.owner(&cast.compute).apply("rbac/compute.yaml");
            }
            Hub::WithOperator => {
                cast.owner(&cast.world.hub).apply_folder("default");
                cast.owner(&cast.world.hub).apply("rbac/compute-roles.yaml");
            }
        }
        kubeconfig::needs_an_account(&cast.owner(&cast.homer));
        cast.owner(&cast.homer).apply("rbac/consumer.yaml");
        kubeconfig::is_made_by_kubectl_alone(&cast, &cast.homer).await;
        for provider in [&cast.ariadne, &cast.theseus] {
            cast.owner(provider).apply("rbac/provider.yaml");
        }
        cast.owner(&cast.theseus).apply("rbac/provider-namespaces.yaml");
        for place in [&cast.world.hub, &cast.compute, &cast.homer, &cast.ariadne, &cast.theseus] {
            cast.from.insert(place.name().to_owned(), place.cluster.audit().settle().await.unwrap());
        }
        cast
    }

    /// From where the audit log of a cluster counts.
    pub(crate) fn from(&self, place: &Place) -> Mark {
        self.from[place.name()]
    }

    /// The owner of a cluster.
    pub(crate) fn owner(&self, place: &Place) -> Owner {
        Owner::of(&self.world.lab, place)
    }

    /// Makes the Secret that makes a cluster one of the brokers'.
    pub(crate) async fn engage(&self, place: &Place, role: &str) {
        let kubeconfig = self.owner(place).kubeconfig_file().await;
        self.owner(&self.world.hub).make_cluster(place.name(), role, &kubeconfig);
    }

    /// Arguments of brokers that come from elsewhere, with the tokens that the clusters' owners made for them.
    pub(crate) async fn broker_args(&self) -> Vec<String> {
        let hub = self.owner(&self.world.hub).kubeconfig_file().await;
        let compute = self.owner(&self.compute).kubeconfig_file().await;
        let flags = [
            ("--coordination-kubeconfig", hub.to_str().unwrap()),
            ("--compute-kubeconfig", compute.to_str().unwrap()),
            ("--cluster-secrets-namespace", "resource-broker-clusters"),
            ("--migration-ttl", MIGRATION_TTL),
            ("--watch-kind", &CERTIFICATE.flag()),
        ];
        let args =
            flags.into_iter().map(|(flag, value)| format!("{flag}={value}")).chain(["--leader-elect".to_owned()]);
        args.collect()
    }

    /// Two brokers with these arguments, which get homer and theseus.
    pub(crate) async fn start_pair(&self, args: Vec<String>) -> Pair<'_> {
        self.engage(&self.homer, "consumer").await;
        self.engage(&self.theseus, "provider").await;
        Pair::start(&self.world.lab, "resource-broker", args).await
    }
}
