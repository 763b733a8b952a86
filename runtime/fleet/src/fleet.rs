//! `Fleet`: the clusters engaged now.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use broker_api::{ClusterName, Role};

use crate::{
    budget::Budget,
    call::Meter,
    cluster::{Cluster, Labels},
    connect::Connector,
    conventions::Conventions,
    dial::Dial,
    identity::{Identities, Rank},
    kinds,
    kubeconfig::Kubeconfig,
    listener::Observer,
    newcomers::Newcomers,
    server::Server,
    subscriptions::Subscriptions,
    traffic::Traffics,
};

/// What a fleet is given.
pub struct FleetOptions {
    /// In whose name it writes.
    pub conventions: &'static Conventions,
    /// Who hears of clusters.
    pub observer: Arc<dyn Observer>,
    /// Called for each request.
    pub meter: Meter,
    /// What all that is held may take.
    pub budget: Arc<Budget>,
    /// How many writes go to one API server at the same time.
    pub concurrent_writes: usize,
    /// How API servers are reached.
    pub dial: Arc<dyn Dial>,
}

/// All engaged clusters. Clusters come and go; each one's troubles stay its own.
pub struct Fleet {
    options: FleetOptions,
    clusters: RwLock<BTreeMap<ClusterName, Arc<Cluster>>>,
    identities: Arc<Identities>,
    traffics: Arc<Traffics>,
    newcomers: Arc<Newcomers>,
    subscriptions: Subscriptions,
}

impl Fleet {
    /// A fleet without clusters.
    pub fn new(options: FleetOptions) -> Arc<Self> {
        Arc::new(Self {
            clusters: RwLock::default(),
            identities: Arc::new(Identities::new(options.conventions)),
            traffics: Arc::new(Traffics::new(options.concurrent_writes)),
            newcomers: Arc::new(Newcomers::new()),
            options,
            subscriptions: Subscriptions::default(),
        })
    }

    /// Says where a cluster that is about to be engaged stands in the configuration: of two that are one API server, the
    /// earlier stays. Of clusters of which nothing is said, the first by name.
    pub fn configure(&self, name: &ClusterName, rank: Rank) {
        self.identities.configure(name, rank);
    }

    /// Says which API server a cluster that is about to be engaged was the last time, by the uid of its `kube-system`: it is
    /// not engaged as another one. `None`: it may be any.
    pub fn expect(&self, name: &ClusterName, uid: Option<String>) {
        if self.identities.expect(name, uid)
            && let Some(cluster) = self.cluster(name)
        {
            cluster.server().forget_identity();
        }
    }

    /// Engages a cluster, or gives an engaged one new credentials and labels. Returns at once; connecting happens by itself.
    /// `labels`: `None` where they cannot be read, or not yet.
    pub fn engage(&self, name: &ClusterName, kubeconfig: Arc<Kubeconfig>, labels: Option<Labels>) {
        let mut clusters = self.clusters.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = clusters.get(name).cloned() {
            drop(clusters);
            cluster.server().renew(kubeconfig);
            return self.label(&cluster, labels);
        }
        let FleetOptions { conventions, observer, meter, budget, dial, .. } = &self.options;
        let share = budget.engage(name);
        let traffic = self.traffics.on(&kubeconfig.way());
        let server = Server::new(name.clone(), conventions, kubeconfig, traffic, &share);
        let cluster = Cluster::new(name.clone(), labels, Arc::clone(&server), Arc::clone(observer), share);
        clusters.insert(name.clone(), Arc::clone(&cluster));
        drop(clusters);
        observer.cluster(name, &cluster.state());
        let connector = Connector {
            credentials: server.credentials(),
            server: Arc::clone(&server),
            identities: Arc::clone(&self.identities),
            traffics: Arc::clone(&self.traffics),
            newcomers: Arc::clone(&self.newcomers),
            meter: *meter,
            dial: Arc::clone(dial),
        };
        server.tasks.spawn(connector.run());
        server.tasks.spawn(kinds::run(Arc::clone(&server)));
        self.subscriptions.start(&cluster);
    }

    /// Gives an engaged cluster labels. Watches start and end with them.
    fn label(&self, cluster: &Arc<Cluster>, labels: Option<Labels>) {
        if cluster.set_labels(labels) {
            self.options.observer.labels(cluster.name(), cluster.labels().as_ref());
            self.subscriptions.relabelled(cluster);
        }
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Lets a cluster go: its watches end, nothing in it is touched.
    pub async fn disengage(&self, name: &ClusterName) {
        let cluster = self.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(cluster) = cluster {
            cluster.leave().await;
        }
        self.identities.release(name);
    }

    /// What indexes may take, and what they take.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.options.budget
    }

    /// An engaged cluster.
    pub fn cluster(&self, name: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Those of these clusters that are engaged, in the same order.
    pub fn engaged<'n>(&self, names: impl IntoIterator<Item = &'n ClusterName>) -> Vec<Arc<Cluster>> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        names.into_iter().filter_map(|name| clusters.get(name).cloned()).collect()
    }

    /// All engaged clusters, in order of their names.
    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// All engaged clusters of a role, in order of their names.
    pub fn in_role(&self, role: Role) -> Vec<Arc<Cluster>> {
        self.among(role, |clusters| clusters.cloned().collect())
    }

    /// The engaged cluster of a role that there is at most one of.
    pub fn the(&self, role: Role) -> Option<Arc<Cluster>> {
        self.among(role, |clusters| clusters.next().cloned())
    }

    /// Looks at the engaged clusters of a role, and at no others: roles come first in the order of names.
    fn among<T>(&self, role: Role, look: impl FnOnce(&mut dyn Iterator<Item = &Arc<Cluster>>) -> T) -> T {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let from = clusters.range(ClusterName::new(role, "")..);
        look(&mut from.take_while(|(name, _)| name.role() == role).map(|(_, cluster)| cluster))
    }

    /// What watches have shown of any cluster may be old: it counts for nothing until it is listed again.
    pub fn list_anew(&self) {
        self.clusters().iter().for_each(|cluster| cluster.server().list_anew());
    }

    /// Lets go of all clusters where they stand, and tells nobody: for simulators, which outlive the process whose fleet it is,
    /// and have ended its tasks.
    pub fn abandon(&self) {
        self.clusters.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Ends everything.
    pub async fn shut_down(&self) {
        for cluster in self.clusters() {
            self.disengage(cluster.name()).await;
        }
    }
}
