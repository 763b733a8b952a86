//! `Fleet`: the clusters engaged now, and what is watched in each role.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use broker_api::{ClusterName, Role};
use tokio::sync::watch;

use crate::{
    budget::Budget,
    call::Meter,
    cluster::{Cluster, Observer},
    connect::Connector,
    conventions::Conventions,
    identity::{Identities, Rank},
    kinds,
    kubeconfig::Kubeconfig,
    watch::WatchSpec,
};

/// All engaged clusters. Clusters come and go; each one's troubles stay its own.
pub struct Fleet {
    conventions: &'static Conventions,
    observer: Arc<dyn Observer>,
    meter: Meter,
    budget: Arc<Budget>,
    watches: HashMap<Role, Vec<Arc<WatchSpec>>>,
    clusters: RwLock<BTreeMap<ClusterName, Arc<Cluster>>>,
    credentials: Mutex<HashMap<ClusterName, watch::Sender<Arc<Kubeconfig>>>>,
    identities: Arc<Identities>,
}

impl Fleet {
    /// A fleet without clusters. `watches` says what is watched in every cluster of a role, `budget` what all that may
    /// take.
    pub fn new(
        conventions: &'static Conventions,
        watches: HashMap<Role, Vec<Arc<WatchSpec>>>,
        observer: Arc<dyn Observer>,
        meter: Meter,
        budget: Arc<Budget>,
    ) -> Self {
        Self {
            conventions,
            observer,
            meter,
            budget,
            watches,
            clusters: RwLock::default(),
            credentials: Mutex::default(),
            identities: Arc::default(),
        }
    }

    /// Says where a cluster that is about to be engaged stands in the configuration: of two that are one API server, the
    /// earlier stays. Of clusters of which nothing is said, the first by name.
    pub fn configure(&self, name: &ClusterName, rank: Rank) {
        self.identities.configure(name, rank);
    }

    /// Engages a cluster, or gives an engaged one new credentials. Returns at once; connecting happens by itself.
    pub fn engage(&self, name: &ClusterName, kubeconfig: Arc<Kubeconfig>) {
        let mut credentials = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = credentials.get(name) {
            held.send_if_modified(|held| {
                let changed = held.fingerprint() != kubeconfig.fingerprint();
                *held = kubeconfig;
                changed
            });
            return;
        }
        let share = self.budget.engage(name);
        let cluster = Arc::new(Cluster::new(name.clone(), self.conventions, Arc::clone(&self.observer), share));
        let (sender, receiver) = watch::channel(kubeconfig);
        credentials.insert(name.clone(), sender);
        drop(credentials);
        self.clusters.write().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), Arc::clone(&cluster));
        self.observer.cluster(name, &cluster.state());
        let connector = Connector {
            cluster: Arc::clone(&cluster),
            credentials: receiver,
            identities: Arc::clone(&self.identities),
            meter: self.meter,
        };
        cluster.spawn(connector.run());
        cluster.spawn(kinds::run(Arc::clone(&cluster)));
        let wanted = self.watches.get(&name.role()).map(Vec::as_slice).unwrap_or_default();
        for spec in wanted {
            cluster.watch(spec);
        }
    }

    /// Lets a cluster go: its watches end, nothing in it is touched.
    pub async fn disengage(&self, name: &ClusterName) {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        let cluster = self.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(cluster) = cluster {
            cluster.leave().await;
        }
        self.identities.release(name);
    }

    /// What indexes may take, and what they take.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// An engaged cluster.
    pub fn cluster(&self, name: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All engaged clusters, in order of their names.
    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// All engaged clusters of a role, in order of their names.
    pub fn in_role(&self, role: Role) -> Vec<Arc<Cluster>> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        clusters.values().filter(|cluster| cluster.name().role() == role).cloned().collect()
    }

    /// The engaged cluster of a role that there is at most one of.
    pub fn the(&self, role: Role) -> Option<Arc<Cluster>> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        clusters.values().find(|cluster| cluster.name().role() == role).cloned()
    }

    /// Ends everything.
    pub async fn shut_down(&self) {
        for cluster in self.clusters() {
            self.disengage(cluster.name()).await;
        }
    }
}
