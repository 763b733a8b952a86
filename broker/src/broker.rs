//! `Broker`: what all parts of the process share.

use std::sync::{Arc, Weak};

use broker_api::ClusterName;
use runtime_cel::expression::Evaluator;
use runtime_engine::{engine::Engine, sources::News};
use runtime_fleet::{
    budget::Budget,
    dial::Dial,
    fleet::{Fleet, FleetOptions},
};
use runtime_process::metrics::meter;
use tokio::{sync::mpsc, time::Instant};
use tracing::info;

use crate::{
    acceptance::{accept_apis::AcceptApis, change::AcceptChange},
    brake::Brake,
    clusters::Clusters,
    conventions::CONVENTIONS,
    intake::Intake,
    migrations::{change::ConfigurationChange, configuring::Configuring, registry::Migrations, stages::Stages},
    namespaces::Namespaces,
    options::Options,
    origins::Origins,
    signing::Signing,
    watches::Watches,
};

/// What all parts of the process share.
pub struct Broker {
    /// The command line.
    pub options: Options,
    /// Namespace of the broker's own objects in the coordination cluster.
    pub namespace: String,
    /// When the process started.
    pub started: Instant,
    /// What its machines run on.
    pub engine: Arc<Engine>,
    /// Evaluates CEL.
    pub evaluator: Evaluator,
    /// What is watched.
    pub watches: Watches,
    /// What is known of clusters beside their connections.
    pub clusters: Clusters,
    /// Changes of cluster Secrets.
    pub secret_changes: mpsc::UnboundedSender<News>,
    /// Consumer objects.
    pub origins: Origins,
    /// AcceptAPIs.
    pub accept_apis: AcceptApis,
    /// Migrations.
    pub migrations: Migrations,
    /// Objects of their stages.
    pub stages: Stages,
    /// MigrationConfigurations.
    pub configuring: Configuring,
    /// The keys that assignments are signed with.
    pub signing: Signing,
    /// Namespaces that the broker made at providers.
    pub namespaces: Namespaces,
    /// Keeps copies whose origins vanished all at once.
    pub brake: Brake,
    /// What has become known and is not all in the queue yet.
    pub(crate) intake: Intake,
    itself: Weak<Self>,
}

/// Receivers of the broker's own channels.
pub struct Channels {
    /// What has happened to AcceptAPIs, for the task that takes it in: see [`AcceptApis`].
    pub accept_changes: mpsc::UnboundedReceiver<AcceptChange>,
    /// See [`Broker::secret_changes`].
    pub secret_changes: mpsc::UnboundedReceiver<News>,
    /// What has happened to MigrationConfigurations, for the one task that compiles them.
    pub configuration_changes: mpsc::UnboundedReceiver<ConfigurationChange>,
}

impl Broker {
    /// A broker without clusters, which are reached through `dial`. What people write is evaluated by `evaluator`.
    pub fn new(
        options: Options,
        namespace: String,
        engine: &Arc<Engine>,
        evaluator: Evaluator,
        dial: Arc<dyn Dial>,
    ) -> (Arc<Self>, Channels) {
        let (accept_changes, accept_receiver) = mpsc::unbounded_channel();
        let (secret_changes, secret_receiver) = mpsc::unbounded_channel();
        let (configuration_changes, configuration_receiver) = mpsc::unbounded_channel();
        let stage_scope = options.stage_scope(&namespace);
        let broker = Arc::new_cyclic(|itself| Self {
            watches: Watches::new(&options, &namespace),
            namespace,
            started: Instant::now(),
            engine: Arc::clone(engine),
            evaluator,
            clusters: Clusters::default(),
            secret_changes,
            origins: Origins::default(),
            accept_apis: AcceptApis::new(accept_changes),
            migrations: Migrations::default(),
            stages: Stages::within(stage_scope),
            configuring: Configuring::new(configuration_changes),
            signing: Signing::default(),
            namespaces: Namespaces::default(),
            brake: Brake::default(),
            intake: Intake::default(),
            itself: itself.clone(),
            options,
        });
        let budget = Budget::new(broker.options.memory_budget.unwrap_or_else(Budget::of_process));
        info!(bytes = budget.limit(), per_cluster = budget.share(), "memory budget for what is held of clusters");
        engine.set_fleet(Fleet::new(FleetOptions {
            conventions: &CONVENTIONS,
            observer: Arc::clone(&broker) as Arc<_>,
            meter,
            budget,
            concurrent_writes: broker.options.concurrent_writes,
            dial,
        }));
        let channels = Channels {
            accept_changes: accept_receiver,
            secret_changes: secret_receiver,
            configuration_changes: configuration_receiver,
        };
        (broker, channels)
    }

    /// The clusters.
    pub fn fleet(&self) -> &Arc<Fleet> {
        self.engine.fleet()
    }

    /// For tasks that outlive the borrow: whoever calls holds a reference already.
    pub(crate) fn itself(&self) -> Arc<Self> {
        self.itself.upgrade().unwrap_or_else(|| unreachable!("the caller holds a reference"))
    }

    /// Whether this process may write now.
    pub fn leads(&self) -> bool {
        self.engine.leads()
    }

    /// A cluster has left: nothing is remembered of what was seen there.
    pub(crate) fn forget(&self, cluster: &ClusterName) {
        self.clusters.forget(cluster);
        self.resettle(cluster, None);
        self.origins.records.forget_copies(cluster);
        self.accept_apis.forget(cluster);
        self.namespaces.forget(cluster);
        for provider in self.brake.forget(cluster) {
            self.enqueue_statuses(&provider);
        }
        // Origins of a consumer that has left are decided on once more, which forgets them.
        self.origins.enqueue_consumer(cluster, None);
        self.migrations.cluster_moved(cluster);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
impl Broker {
    /// One that brokers `K.v1.g`, and knows no cluster.
    pub(crate) fn of_one_kind() -> (Arc<Self>, Channels) {
        Self::with_flags(&[])
    }

    /// The same, with these flags.
    pub(crate) fn with_flags(flags: &[&str]) -> (Arc<Self>, Channels) {
        use clap::Parser as _;
        use runtime_engine::decisions::Decisions;
        use runtime_fleet::dial::Sockets;
        use runtime_process::metrics::METERS;

        let flags = ["resource-broker", "--watch-kind", "K.v1.g"].iter().chain(flags);
        let options = Options::try_parse_from(flags).unwrap();
        let engine = Engine::new(Decisions::start(METERS.slow).unwrap(), &METERS);
        Self::new(options, "ours".into(), &engine, Evaluator::new(), Arc::new(Sockets))
    }

    /// Engages a cluster to which nobody can connect.
    pub(crate) fn engage_unreachable(&self, cluster: &ClusterName) {
        use broker_api::Role;
        use runtime_fleet::kubeconfig::{Kubeconfig, Trust};

        let text = "current-context: m\ncontexts: [{name: m, context: {cluster: c, user: u}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n";
        self.fleet().engage(cluster, Arc::new(Kubeconfig::parse(text, &Trust::Secret).unwrap()), None);
        if cluster.role() == Role::Consumer {
            self.clusters.note_consumer(cluster, true);
        }
    }
}
