//! Clusters whose owners applied the files of `config/rbac`, and two brokers with the tokens from there.

use std::{collections::HashMap, time::Duration};

use e2e::{
    Broker, BrokerSetup, Place, World,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION},
    world::place,
};
use harness::{Mark, wait_for};

use crate::owner::Owner;

/// The lease lasts 15 s, and takes some seconds more to be seen and taken on a busy machine.
const TAKEOVER: Duration = Duration::from_secs(40);

/// How long Migrations are kept: long enough to be looked at.
const MIGRATION_TTL: &str = "5s";

/// Names in the brokers' lab.
const BROKERS: [&str; 2] = ["broker-one", "broker-two"];

/// All clusters.
pub(crate) struct Cast {
    /// The lab, and the coordination cluster.
    pub(crate) world: World,
    /// The compute cluster.
    pub(crate) compute: Place,
    /// A consumer.
    pub(crate) homer: Place,
    /// A provider whose owner applied provider.yaml.
    pub(crate) ariadne: Place,
    /// A provider whose owner applied provider-namespaces.yaml, too, and installs the CRD of Certificates late.
    pub(crate) theseus: Place,
    /// From where the audit log of each counts.
    pub(crate) from: HashMap<&'static str, Mark>,
}

impl Cast {
    /// Starts the clusters, and applies in each what its owner applies.
    pub(crate) async fn start() -> Self {
        let mut world = World::without_broker(&[], &[], &[]).await;
        // With a controller manager, which fills token Secrets.
        let hub_kinds = [MIGRATION, MIGRATION_CONFIGURATION];
        let provider_kinds = [ACCEPT_API, CERTIFICATE];
        let (hub, compute, homer, ariadne, theseus) = tokio::join!(
            place(&world.lab, "coordination", true, &hub_kinds),
            place(&world.lab, "compute", true, &[]),
            place(&world.lab, "homer", true, &[CERTIFICATE]),
            place(&world.lab, "ariadne", true, &provider_kinds),
            place(&world.lab, "theseus", true, &[ACCEPT_API]),
        );
        world.hub = hub;
        let mut cast = Self { world, compute, homer, ariadne, theseus, from: HashMap::new() };
        for (place, files) in [
            (&cast.world.hub, &["rbac/coordination.yaml"][..]),
            (&cast.compute, &["rbac/compute.yaml"]),
            (&cast.homer, &["rbac/consumer.yaml"]),
            (&cast.ariadne, &["rbac/provider.yaml"]),
            (&cast.theseus, &["rbac/provider.yaml", "rbac/provider-namespaces.yaml"]),
        ] {
            let owner = cast.owner(place);
            for file in files {
                owner.apply(file);
            }
        }
        for name in ["coordination", "compute", "homer", "ariadne", "theseus"] {
            let place = [&cast.world.hub, &cast.compute, &cast.homer, &cast.ariadne, &cast.theseus];
            let place = place.into_iter().find(|place| place.name() == name).unwrap();
            cast.from.insert(name, place.cluster.audit().settle().await.unwrap());
        }
        cast
    }

    /// The owner of a cluster.
    pub(crate) fn owner(&self, place: &Place) -> Owner {
        Owner::of(&self.world.lab, place)
    }

    /// Makes the Secret that makes a cluster one of the brokers'.
    pub(crate) fn engage(&self, place: &Place, role: &str) {
        let secret = self.owner(place).kubeconfig_sh(&["--secret", place.name(), "--role", role]);
        self.owner(&self.world.hub).apply_text(&secret.unwrap_or_else(|error| panic!("{error}")));
    }

    /// Two brokers with a leader election, to which all clusters but ariadne are given.
    pub(crate) async fn start_brokers(&self) -> [Broker; 2] {
        self.engage(&self.homer, "consumer");
        self.engage(&self.theseus, "provider");
        let hub = self.owner(&self.world.hub).kubeconfig_file();
        let compute = self.owner(&self.compute).kubeconfig_file();
        let args: Vec<String> = [
            ("--coordination-kubeconfig", hub.to_str().unwrap()),
            ("--compute-kubeconfig", compute.to_str().unwrap()),
            ("--cluster-secrets-namespace", "resource-broker-clusters"),
            ("--migration-ttl", MIGRATION_TTL),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()])
        .chain(["--leader-elect".to_owned()])
        .collect();
        let setup = |name| BrokerSetup { name, kinds: &[CERTIFICATE], args: args.clone(), ..BrokerSetup::default() };
        let (first, second) = (setup(BROKERS[0]), setup(BROKERS[1]));
        tokio::join!(Broker::start(&self.world.lab, &first), Broker::start(&self.world.lab, &second)).into()
    }

    /// The one that leads ends, and the other takes over.
    pub(crate) async fn hand_over(&self, brokers: &mut [Broker; 2]) {
        let leader = usize::from(!leads(&brokers[0]).await);
        assert!(leads(&brokers[leader]).await, "one leads");
        assert_eq!(brokers[leader].terminate().await, Some(0));
        let what = "the other broker to lead";
        wait_for(TAKEOVER, what, async || leads(&brokers[1 - leader]).await).await.unwrap();
    }
}

async fn leads(broker: &Broker) -> bool {
    let metrics = broker.metrics().await.unwrap_or_default();
    metrics.contains("leader_election_master_status{name=\"resource-broker\"} 1")
}
