//! `Broker`: what all parts of the process share.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::{ArcSwap, ArcSwapOption};
use broker_api::{ClusterName, Role, keys};
use broker_core::{assignment::KeyRing, naming::consumer_hash, snapshot::OriginKey};
use runtime_cel::{expression::Evaluator, schema::Schema};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    budget::Budget,
    fleet::Fleet,
    lease::Leadership,
    object::ObjectKey,
    queue::{Key, Queue},
    source::Provenance,
    watch::WatchSpec,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{
    bodies::Bodies,
    brake::Brake,
    conventions::CONVENTIONS,
    decisions::Decisions,
    departures::Departures,
    events::Recorder,
    metrics,
    migrations::{Configurations, Migrations, Stages, configured::ConfigurationChange},
    namespaces::Namespaces,
    options::Options,
    owned::Owned,
    policies::Policies,
    records::Records,
    registry::Registry,
    secrets_namespace::namespaces,
    signing::Signing,
};

/// An origin as the queue has it: its turn is that of its consumer cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Work(pub OriginKey);

impl Key for Work {
    fn lane(&self) -> &ClusterName {
        &self.0.cluster
    }
}

/// A kind that is brokered.
#[derive(Debug, Clone)]
pub struct Brokered {
    /// Shared by the keys of all its origins.
    pub kind: Arc<Kind>,
    /// As the client has it.
    pub gvk: GroupVersionKind,
    /// Its watch, in consumers and providers.
    pub spec: Arc<WatchSpec>,
}

/// A kind of related resources.
#[derive(Debug, Clone)]
pub struct RelatedKind {
    /// The kind.
    pub kind: Kind,
    /// All of it, in providers.
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

/// The cluster Secrets of one namespace.
#[derive(Debug, Clone)]
pub struct ClusterSecrets {
    /// Their namespace.
    pub namespace: String,
    /// Which roles they may give.
    pub roles: Vec<Role>,
    /// Their watch.
    pub spec: Arc<WatchSpec>,
}

/// The kind `Secret`.
pub fn secret() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "Secret")
}

impl Watches {
    fn new(options: &Options, namespace: &str) -> Self {
        let brokered = options.watch_kind.iter().map(|flag| {
            let gvk = flag.0.to_gvk();
            Brokered { kind: Arc::new(flag.0.clone()), gvk: gvk.clone(), spec: Arc::new(WatchSpec::all(gvk)) }
        });
        let ours = format!("{}={}", keys::MANAGED_BY, keys::MANAGER);
        let related = options.related_kind.iter().map(|flag| RelatedKind {
            kind: flag.0.clone(),
            source: Arc::new(WatchSpec::all(flag.0.to_gvk())),
            target: Arc::new(WatchSpec::all(flag.0.to_gvk()).labelled(ours.clone())),
        });
        let secrets = namespaces(&options.cluster_secrets_namespace).into_iter().map(|(namespace, roles)| {
            let spec = WatchSpec::all(secret()).within(&namespace).labelled(CONVENTIONS.secrets());
            ClusterSecrets { namespace, roles, spec: Arc::new(spec) }
        });
        let own = |kind| Arc::new(WatchSpec::all(GroupVersionKind::gvk(keys::GROUP, "v1alpha1", kind)));
        Self {
            brokered: brokered.collect(),
            related: related.collect(),
            accept_apis: own("AcceptAPI"),
            migrations: own("Migration"),
            configurations: own("MigrationConfiguration"),
            signing_key: Arc::new(WatchSpec::all(secret()).within(namespace).named(keys::SIGNING_KEY_SECRET)),
            signing_backup: Arc::new(WatchSpec::all(secret()).within(namespace).named(keys::SIGNING_KEY_BACKUP)),
            cluster_secrets: secrets.collect(),
        }
    }

    /// What is watched in each role.
    pub fn by_role(&self) -> HashMap<Role, Vec<Arc<WatchSpec>>> {
        let brokered = || self.brokered.iter().map(|kind| Arc::clone(&kind.spec));
        // A brokered kind may be a related kind, too: its watch is started once.
        let mut provider: Vec<_> = brokered().chain([Arc::clone(&self.accept_apis)]).collect();
        provider.extend(self.related.iter().map(|kind| Arc::clone(&kind.source)));
        HashMap::from([
            (Role::Consumer, brokered().chain(self.related.iter().map(|kind| Arc::clone(&kind.target))).collect()),
            (Role::Provider, provider),
            (
                Role::Coordination,
                [&self.signing_key, &self.signing_backup, &self.migrations, &self.configurations]
                    .into_iter()
                    .chain(self.cluster_secrets.iter().map(|secrets| &secrets.spec))
                    .cloned()
                    .collect(),
            ),
        ])
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
            _ => brokered.or(related.map(|related| &related.source)),
        }
    }
}

/// A change of an AcceptAPI, or the end of a provider's first list.
#[derive(Debug)]
pub enum AcceptChange {
    /// Look at this one again.
    Changed(ClusterName, ObjectKey),
    /// All of this provider's are in.
    Complete(ClusterName),
    /// The provider has left.
    Left(ClusterName),
    /// The platform's bounds for the provider are others.
    Bounded(ClusterName),
}

/// A change of a cluster Secret, or the end of their first list.
#[derive(Debug)]
pub enum SecretChange {
    /// Look at this one again.
    Changed(ObjectKey),
    /// All of them are in.
    Complete,
}

/// What all parts of the process share.
pub struct Broker {
    /// The command line.
    pub options: Options,
    /// Namespace of the broker's own objects in the coordination cluster.
    pub namespace: String,
    /// What is watched.
    pub watches: Watches,
    fleet: OnceLock<Arc<Fleet>>,
    /// Where decisions are made.
    pub decisions: Decisions,
    /// Origins to look at.
    pub queue: Arc<Queue<Work>>,
    /// AcceptAPIs.
    pub registry: ArcSwap<Registry>,
    /// Held while the registry is changed: providers' changes are taken in side by side.
    pub registry_changes: Mutex<()>,
    /// Changes of AcceptAPIs, for the task that takes them in.
    pub accept_changes: mpsc::UnboundedSender<AcceptChange>,
    /// Changes of cluster Secrets.
    pub secret_changes: mpsc::UnboundedSender<SecretChange>,
    /// Migrations, and those of them to look at.
    pub migrations: Migrations,
    /// Objects of their stages.
    pub stages: Stages,
    /// MigrationConfigurations.
    pub configurations: ArcSwap<Configurations>,
    /// Changes of MigrationConfigurations, for the one task that compiles them.
    pub configuration_changes: mpsc::UnboundedSender<ConfigurationChange>,
    /// One of them was compiled: statuses may be out of date.
    pub configurations_changed: Notify,
    /// What is remembered of origins.
    pub records: Records,
    /// Bodies that were read for decisions.
    pub bodies: Bodies,
    /// Engaged consumers by the hash that leads their copies' names.
    consumers: RwLock<HashMap<String, ClusterName>>,
    /// Related copies in consumers, by owner.
    pub owned: Owned,
    /// Signing keys; `None` until they are read.
    pub ring: ArcSwapOption<KeyRing>,
    /// The Secrets that hold them.
    pub signing: Signing,
    /// Evaluates CEL.
    pub evaluator: Evaluator,
    /// Whether we may write.
    pub leadership: OnceLock<Leadership>,
    /// The process is to end: it begins no more writes.
    pub stop: CancellationToken,
    /// Namespaces that the broker made at providers.
    pub namespaces: Namespaces,
    /// Keeps copies whose origins vanished all at once.
    pub brake: Brake,
    /// Tells people.
    pub recorder: Recorder,
    /// Which clusters have left the configuration.
    pub departures: Departures,
    /// What the engaged clusters' kubeconfigs were read from.
    pub provenance: Mutex<HashMap<ClusterName, Provenance>>,
    schemas: RwLock<HashMap<(ClusterName, Kind), Arc<Schema>>>,
    /// Under which plural a provider serves a kind, as it last said.
    pub(crate) plurals: RwLock<HashMap<ClusterName, HashMap<Kind, String>>>,
    /// Kinds for which room has just come.
    pub(crate) roomy: Mutex<HashSet<Arc<Kind>>>,
    /// What the platform says of clusters.
    pub policies: Policies,
    synced: AtomicBool,
    itself: Weak<Self>,
    /// When the process started.
    pub started: Instant,
}

/// Receivers of the broker's own channels.
pub struct Channels {
    /// See [`Broker::accept_changes`].
    pub accept_changes: mpsc::UnboundedReceiver<AcceptChange>,
    /// See [`Broker::secret_changes`].
    pub secret_changes: mpsc::UnboundedReceiver<SecretChange>,
    /// See [`Broker::configuration_changes`].
    pub configuration_changes: mpsc::UnboundedReceiver<ConfigurationChange>,
}

impl Broker {
    /// A broker without clusters.
    pub fn new(options: Options, namespace: String, decisions: Decisions) -> (Arc<Self>, Channels) {
        let (accept_changes, accept_receiver) = mpsc::unbounded_channel();
        let (secret_changes, secret_receiver) = mpsc::unbounded_channel();
        let (configuration_changes, configuration_receiver) = mpsc::unbounded_channel();
        let stage_scope = options.stage_scope(&namespace);
        let broker = Arc::new_cyclic(|itself| Self {
            itself: itself.clone(),
            watches: Watches::new(&options, &namespace),
            namespace,
            fleet: OnceLock::new(),
            decisions,
            queue: Queue::new(options.concurrent_writes, metrics::waited),
            registry: ArcSwap::default(),
            registry_changes: Mutex::default(),
            accept_changes,
            secret_changes,
            migrations: Migrations::new(options.concurrent_writes),
            stages: Stages::within(stage_scope),
            configurations: ArcSwap::default(),
            configuration_changes,
            configurations_changed: Notify::new(),
            records: Records::default(),
            bodies: Bodies::default(),
            consumers: RwLock::default(),
            owned: Owned::default(),
            ring: ArcSwapOption::empty(),
            signing: Signing::default(),
            evaluator: Evaluator::new(),
            leadership: OnceLock::new(),
            stop: CancellationToken::new(),
            namespaces: Namespaces::default(),
            brake: Brake::default(),
            recorder: Recorder::default(),
            departures: Departures::default(),
            provenance: Mutex::default(),
            schemas: RwLock::default(),
            plurals: RwLock::default(),
            roomy: Mutex::default(),
            policies: Policies::default(),
            synced: AtomicBool::new(false),
            started: Instant::now(),
            options,
        });
        let budget = Budget::new(broker.options.memory_budget.unwrap_or_else(Budget::of_process));
        info!(bytes = budget.limit(), per_cluster = budget.share(), "memory budget for what is held of clusters");
        let fleet =
            Fleet::new(&CONVENTIONS, broker.watches.by_role(), Arc::clone(&broker) as Arc<_>, metrics::meter, budget);
        // Nobody else has the broker yet.
        let _ = broker.fleet.set(Arc::new(fleet));
        let channels = Channels {
            accept_changes: accept_receiver,
            secret_changes: secret_receiver,
            configuration_changes: configuration_receiver,
        };
        (broker, channels)
    }

    /// The clusters.
    pub fn fleet(&self) -> &Fleet {
        self.fleet.get_or_init(|| unreachable!("set in Broker::new before anybody else has the broker"))
    }

    /// For tasks that outlive the borrow: whoever calls holds a reference already.
    pub(crate) fn itself(&self) -> Arc<Self> {
        self.itself.upgrade().unwrap_or_else(|| unreachable!("the caller holds a reference"))
    }

    /// Whether this process may write now.
    pub fn leads(&self) -> bool {
        !self.stop.is_cancelled() && self.leadership.get().is_some_and(Leadership::is_leader)
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
        schemas.get(&(cluster.clone(), kind.clone())).cloned().unwrap_or_else(|| Arc::new(Schema::any()))
    }

    /// Takes a new schema, or that there is none.
    pub fn set_schema(&self, cluster: &ClusterName, kind: Kind, schema: Option<Schema>) {
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        match schema {
            Some(schema) => schemas.insert((cluster.clone(), kind), Arc::new(schema)),
            None => schemas.remove(&(cluster.clone(), kind)),
        };
    }

    /// A cluster has left: nothing is remembered of what was seen there.
    pub fn forget(&self, cluster: &ClusterName) {
        self.schemas.write().unwrap_or_else(PoisonError::into_inner).retain(|(name, _), _| name != cluster);
        self.provenance.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.plurals.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.records.forget_copies(cluster);
        self.policies.forget(cluster);
        self.owned.forget(cluster);
        self.brake.forget(cluster);
        // Origins of a consumer that has left are decided on once more, which forgets them.
        for key in self.records.select(|key, _| key.cluster == *cluster) {
            self.enqueue(key);
        }
        self.migrations.enqueue_open();
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
