//! `Broker`: what all parts of the process share.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use broker_api::ClusterName;
use broker_core::{acceptance::AcceptId, assignment::KeyRing, naming::consumer_hash, snapshot::OriginKey};
use runtime_cel::{expression::Evaluator, schema::Schema, shared::Shared};
use runtime_effect::kind::Kind;
use runtime_engine::{engine::Engine, sources::News};
use runtime_fleet::{
    GroupVersionKind,
    budget::Budget,
    dial::Dial,
    fleet::{Fleet, FleetOptions},
    hashed::{HashMap, HashSet},
    index::{Change, Index},
    kind::{SchemaDigest, SchemaNews},
    object::ObjectKey,
    queue::Queue,
    source::Provenance,
};
use runtime_process::metrics::meter;
use tokio::{sync::mpsc, time::Instant};
use tracing::info;

use crate::{
    acceptance::{
        change::AcceptChange,
        registry::Registry,
        statuses::{AcceptWork, Statuses},
    },
    brake::Brake,
    conventions::CONVENTIONS,
    departures::Departures,
    intake::Intake,
    migrations::{
        change::ConfigurationChange, configurations, registry::Migrations, stages::Stages,
        statuses::ConfigurationStatuses,
    },
    namespaces::Namespaces,
    options::Options,
    origins::{identities::Identities, records::Records, unsettled::Unsettled, work::Work},
    plurals::Plurals,
    policies::Policies,
    signing::Signing,
    watches::Watches,
};

/// After so long an expression is compiled again that the machine was too busy for.
pub(crate) const RECOMPILE: Duration = Duration::from_secs(5);

/// What all parts of the process share.
pub struct Broker {
    /// The command line.
    pub options: Options,
    /// Namespace of the broker's own objects in the coordination cluster.
    pub namespace: String,
    /// What is watched.
    pub watches: Watches,
    /// What its machines run on.
    pub engine: Arc<Engine>,
    /// Origins to look at.
    pub queue: Arc<Queue<Work>>,
    /// AcceptAPIs.
    pub registry: ArcSwap<Registry>,
    /// Held while the registry is changed: providers' changes are taken in side by side.
    pub registry_changes: Mutex<()>,
    /// Changes of AcceptAPIs, for the task that takes them in.
    pub accept_changes: mpsc::UnboundedSender<AcceptChange>,
    /// Changes of cluster Secrets.
    pub secret_changes: mpsc::UnboundedSender<News>,
    /// Migrations, and those of them to look at.
    pub migrations: Migrations,
    /// Objects of their stages.
    pub stages: Stages,
    /// MigrationConfigurations.
    pub configurations: configurations::Current,
    /// Changes of MigrationConfigurations, for the one task that compiles them.
    pub configuration_changes: mpsc::UnboundedSender<ConfigurationChange>,
    /// How often their watch has lost sight of them: see [`ConfigurationChange::Complete`].
    pub(crate) configuration_losses: AtomicU64,
    /// Their statuses.
    pub configuration_statuses: ConfigurationStatuses,
    /// Statuses of AcceptAPIs.
    pub statuses: Statuses,
    /// What is remembered of origins.
    pub records: Records,
    /// Engaged consumers by the hash that leads their copies' names.
    consumers: RwLock<HashMap<String, ClusterName>>,
    /// Signing keys; `None` until they are read.
    pub ring: ArcSwapOption<KeyRing>,
    /// The Secrets that hold them.
    pub signing: Signing,
    /// Evaluates CEL.
    pub evaluator: Evaluator,
    /// Namespaces that the broker made at providers.
    pub namespaces: Namespaces,
    /// Keeps copies whose origins vanished all at once.
    pub brake: Brake,
    /// Which clusters have left the configuration.
    pub departures: Departures,
    /// What the engaged clusters' kubeconfigs were read from.
    pub provenance: Mutex<HashMap<ClusterName, Provenance>>,
    schemas: RwLock<HashMap<ClusterName, HashMap<Kind, Arc<Schema>>>>,
    /// Each of them once, however many clusters and kinds have it.
    compiled: Shared<SchemaDigest, Schema>,
    /// Under which plurals consumers and providers serve kinds.
    pub(crate) plurals: Plurals,
    /// Which API servers providers are.
    pub(crate) identities: Identities,
    /// Providers of which not all is known.
    pub(crate) unsettled: Unsettled,
    /// Kinds for which room has just come.
    pub(crate) roomy: Mutex<HashSet<Arc<Kind>>>,
    /// What the platform says of clusters.
    pub policies: Policies,
    synced: AtomicBool,
    /// What has become known and is not all in the queue yet.
    pub(crate) intake: Intake,
    itself: Weak<Self>,
    /// When the process started.
    pub started: Instant,
}

/// Receivers of the broker's own channels.
pub struct Channels {
    /// See [`Broker::accept_changes`].
    pub accept_changes: mpsc::UnboundedReceiver<AcceptChange>,
    /// See [`Broker::secret_changes`].
    pub secret_changes: mpsc::UnboundedReceiver<News>,
    /// See [`Broker::configuration_changes`].
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
            itself: itself.clone(),
            watches: Watches::new(&options, &namespace),
            namespace,
            engine: Arc::clone(engine),
            queue: Arc::default(),
            registry: ArcSwap::default(),
            registry_changes: Mutex::default(),
            accept_changes,
            secret_changes,
            migrations: Migrations::default(),
            stages: Stages::within(stage_scope),
            configurations: configurations::Current::default(),
            configuration_changes,
            configuration_losses: AtomicU64::new(0),
            configuration_statuses: ConfigurationStatuses::default(),
            statuses: Statuses::default(),
            records: Records::default(),
            consumers: RwLock::default(),
            ring: ArcSwapOption::empty(),
            signing: Signing::default(),
            evaluator,
            namespaces: Namespaces::default(),
            brake: Brake::default(),
            departures: Departures::default(),
            provenance: Mutex::default(),
            schemas: RwLock::default(),
            compiled: Shared::default(),
            plurals: Plurals::default(),
            identities: Identities::default(),
            unsettled: Unsettled::default(),
            roomy: Mutex::default(),
            policies: Policies::default(),
            synced: AtomicBool::new(false),
            intake: Intake::default(),
            started: Instant::now(),
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

    /// Whether everything that was there at the start has been looked at once.
    pub fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Relaxed)
    }

    /// Notes that it has.
    pub fn set_synced(&self) {
        self.synced.store(true, Ordering::Relaxed);
    }

    /// Look at an origin.
    pub fn enqueue(&self, key: OriginKey) {
        self.queue.add(Work(key));
    }

    /// Look at an origin: its watch tells that this object of its own has changed.
    pub fn enqueue_told(&self, key: OriginKey, index: &Index, change: &Change) {
        self.queue.add_told(Work(key), index, change);
    }

    /// Look at an origin again because of a provider's doing: after everybody's own work, and in that provider's share of
    /// the time.
    pub fn enqueue_later(&self, key: OriginKey, cause: &ClusterName) {
        self.queue.add_later(Work(key), cause);
    }

    /// The key of an object in a consumer.
    pub fn origin_key(cluster: &ClusterName, kind: &Arc<Kind>, key: &ObjectKey) -> OriginKey {
        OriginKey {
            cluster: cluster.clone(),
            gvk: Arc::clone(kind),
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&key.name),
        }
    }

    /// What a cluster can hold of a kind.
    pub fn schema(&self, cluster: &ClusterName, kind: &Kind) -> Arc<Schema> {
        let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
        let held = schemas.get(cluster).and_then(|kinds| kinds.get(kind));
        held.cloned().unwrap_or_else(|| Arc::new(Schema::any()))
    }

    /// Takes a new schema, or that there is none.
    pub(crate) fn set_schema(&self, cluster: &ClusterName, gvk: &GroupVersionKind, news: SchemaNews<'_>) {
        let schema = match news {
            SchemaNews::Same => return,
            SchemaNews::Unpublished | SchemaNews::Unasked | SchemaNews::Unread => None,
            SchemaNews::New(new) => Some(self.compiled.get_or_make(*new.digest(), || Schema::compile(new.json()))),
        };
        let kind = Kind::from(gvk);
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        match schema {
            Some(schema) => drop(schemas.entry(cluster.clone()).or_default().insert(kind, schema)),
            None => drop(schemas.get_mut(cluster).and_then(|kinds| kinds.remove(&kind))),
        }
    }

    /// A cluster has left: nothing is remembered of what was seen there.
    pub fn forget(&self, cluster: &ClusterName) {
        self.schemas.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.provenance.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.plurals.forget(cluster);
        self.resettle(cluster, None);
        self.records.forget_copies(cluster);
        let first = AcceptWork(AcceptId { provider: cluster.clone(), namespace: "".into(), name: "".into() });
        for work in self.statuses.row(&first, |AcceptWork(id)| id.provider == *cluster) {
            self.statuses.forget(&work);
        }
        self.namespaces.forget(cluster);
        self.policies.forget(cluster);
        for provider in self.brake.forget(cluster) {
            self.enqueue_statuses(&provider);
        }
        // Origins of a consumer that has left are decided on once more, which forgets them.
        for key in self.records.of_consumer(cluster, None) {
            self.enqueue(key);
        }
        self.migrations.cluster_moved(cluster);
    }

    /// The engaged consumer whose copies carry this prefix.
    pub fn consumer_by_hash(&self, hash: &str) -> Option<ClusterName> {
        self.consumers.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    /// A consumer is engaged, or leaves.
    pub(crate) fn note_consumer(&self, name: &ClusterName, engaged: bool) {
        let hash = consumer_hash(name);
        let held = self.consumers.read().unwrap_or_else(PoisonError::into_inner).contains_key(&hash);
        if held == engaged {
            return;
        }
        let mut consumers = self.consumers.write().unwrap_or_else(PoisonError::into_inner);
        if engaged {
            consumers.insert(hash, name.clone());
        } else {
            consumers.remove(&hash);
        }
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
            self.note_consumer(cluster, true);
        }
    }
}
