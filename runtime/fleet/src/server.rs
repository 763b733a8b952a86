//! `Server`: one API server as it is reached with one kubeconfig: the connection, its kinds, what may be written and read at
//! a time. What is seen there is its clusters'.
//!
//! It serves any number of clusters and tells all of them what becomes of it; it ends with the last. Three kinds of tasks run
//! for it: one connects ([`crate::connect`]), one asks for its kinds ([`crate::kinds`]), streams follow objects
//! ([`crate::watch`]), its own of CRDs and those of its clusters. They meet only here.
//!
//! What several clusters of one server need beside this: one that comes later has to be told of kinds that are known already.

mod want;

use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use broker_api::ClusterName;
use k8s_openapi::jiff::Timestamp;
use kube::core::GroupVersionKind;
use tokio::sync::{Notify, watch};

use crate::{
    budget::Share,
    call::Caller,
    cluster::state::ClusterState,
    conventions::Conventions,
    index::{Doubt, Index},
    intake::Intake,
    kind::{KindInfo, KindState, SchemaNews},
    kinds::{
        known::Known,
        wanted::{News, Reading},
    },
    kubeconfig::Kubeconfig,
    lock::lock,
    served::Served,
    tasks::Tasks,
    traffic::Traffic,
};

/// A working client and whom it talks to.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Sends requests.
    pub caller: Caller,
    /// uid of the namespace `kube-system`: the API server's identity. `None` where we may not read it.
    pub identity: Option<String>,
    /// When its credentials end, where that is known.
    pub(crate) valid_until: Option<Timestamp>,
    /// Counts connections to one server.
    pub(crate) generation: u64,
}

impl Connection {
    /// The same connection, where everything is asked for below a path.
    pub(crate) fn within(self: Arc<Self>, path: &str) -> Arc<Self> {
        if path.is_empty() {
            return self;
        }
        Arc::new(Self { caller: self.caller.within(path), ..(*self).clone() })
    }

    /// The same connection with more time per request: see [`Caller::after`].
    pub(crate) fn after(self: Arc<Self>, failures: u32) -> Arc<Self> {
        if failures == 0 {
            return self;
        }
        Arc::new(Self { caller: self.caller.clone().after(failures), ..(*self).clone() })
    }
}

#[derive(Debug, Clone)]
struct Link {
    state: ClusterState,
    connection: Option<Arc<Connection>>,
    /// How often requests have begun to go through.
    returns: u64,
    /// How often everything was to be listed anew.
    anew: u64,
}

impl Link {
    /// What is seen on the connection now has nothing to do with what was seen in other times.
    fn times(&self) -> (Option<u64>, u64) {
        (self.connection.as_ref().map(|held| held.generation), self.anew)
    }
}

/// One API server; see the module.
pub struct Server {
    name: ClusterName,
    conventions: &'static Conventions,
    credentials: watch::Sender<Arc<Kubeconfig>>,
    link: watch::Sender<Link>,
    /// After which return it was last found to have gone back in time.
    restored: AtomicU64,
    traffic: ArcSwap<Traffic>,
    pub(crate) kinds: Known,
    pub(crate) intake: Intake,
    pub(crate) suspicion: Notify,
    clusters: Mutex<Vec<Weak<dyn Served>>>,
    /// Held while something is told of a kind.
    telling: Mutex<()>,
    pub(crate) tasks: Tasks,
}

impl Server {
    /// A server without clusters, to which nothing connects yet. `name`: what its kubeconfig is configured as. What is held
    /// for the server itself is charged to `share`.
    pub(crate) fn new(
        name: ClusterName,
        conventions: &'static Conventions,
        kubeconfig: Arc<Kubeconfig>,
        traffic: Arc<Traffic>,
        share: &Arc<Share>,
    ) -> Arc<Self> {
        Arc::new(Self {
            kinds: Known::new(&name, share),
            name,
            conventions,
            credentials: watch::Sender::new(kubeconfig),
            link: watch::Sender::new(Link { state: ClusterState::Connecting, connection: None, returns: 0, anew: 0 }),
            restored: AtomicU64::new(0),
            traffic: ArcSwap::new(traffic),
            intake: Intake::default(),
            suspicion: Notify::new(),
            clusters: Mutex::default(),
            telling: Mutex::default(),
            tasks: Tasks::default(),
        })
    }

    /// What its kubeconfig is configured as.
    pub(crate) fn name(&self) -> &ClusterName {
        &self.name
    }

    pub(crate) fn conventions(&self) -> &'static Conventions {
        self.conventions
    }

    /// A cluster is served from now on.
    pub(crate) fn serve(&self, cluster: &Arc<impl Served>) {
        lock(&self.clusters).push(Arc::downgrade(cluster) as Weak<dyn Served>);
    }

    /// A cluster is served no more. Without any the server's own tasks end.
    pub(crate) async fn release(&self, cluster: &ClusterName) {
        let last = {
            let mut clusters = lock(&self.clusters);
            clusters.retain(|held| held.upgrade().is_some_and(|held| held.name() != cluster));
            clusters.is_empty()
        };
        if last {
            self.tasks.end().await;
        }
    }

    fn clusters(&self) -> Vec<Arc<dyn Served>> {
        lock(&self.clusters).iter().filter_map(Weak::upgrade).collect()
    }

    /// Takes a new kubeconfig; one that leads to the same with the same credentials needs no new connection.
    pub(crate) fn renew(&self, kubeconfig: Arc<Kubeconfig>) {
        self.credentials.send_if_modified(|held| {
            let changed = held.fingerprint() != kubeconfig.fingerprint();
            *held = kubeconfig;
            changed
        });
    }

    /// The kubeconfig that counts, and when another does.
    pub(crate) fn credentials(&self) -> watch::Receiver<Arc<Kubeconfig>> {
        self.credentials.subscribe()
    }

    /// How it stands. Never `Leaving`: that is a cluster's matter.
    pub(crate) fn state(&self) -> ClusterState {
        self.link.borrow().state.clone()
    }

    /// Whether requests go through, as far as is known.
    pub(crate) fn is_ready(&self) -> bool {
        self.link.borrow().state == ClusterState::Ready
    }

    /// The connection, if requests go through.
    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        let link = self.link.borrow();
        if link.state == ClusterState::Ready { link.connection.clone() } else { None }
    }

    /// Whether there is a connection, whether requests go through or not.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.borrow().connection.is_some()
    }

    /// How often requests have begun to go through: another number after each outage, and on each connection.
    pub(crate) fn returns(&self) -> u64 {
        self.link.borrow().returns
    }

    /// Its identity, as of the last connection.
    pub fn identity(&self) -> Option<String> {
        self.link.borrow().connection.as_ref()?.identity.clone()
    }

    /// It may be another API server than it was, unless it works as that one.
    pub(crate) fn forget_identity(&self) {
        self.link.send_if_modified(|link| {
            if link.state != ClusterState::Ready {
                link.connection = None;
            }
            false
        });
    }

    /// What goes there: shared with whoever is the same API server.
    pub fn traffic(&self) -> Arc<Traffic> {
        self.traffic.load_full()
    }

    /// It is reached in another way. Whoever waits for a slot of before gets that, and asks again.
    pub(crate) fn set_traffic(&self, traffic: Arc<Traffic>) {
        self.traffic.store(traffic);
    }

    /// A request failed in a way that may mean that the server is gone: it is looked at.
    pub fn suspect(&self, connection: &Connection) {
        let current = self.link.borrow().connection.as_ref().map(|held| held.generation);
        if current == Some(connection.generation) {
            self.suspicion.notify_one();
        }
    }

    pub(crate) fn set_state(&self, state: &ClusterState, connection: Option<Arc<Connection>>) {
        let changed = self.link.send_if_modified(|link| {
            let cause = |state: &ClusterState| match state {
                ClusterState::Unreachable { cause, .. } => Some(*cause),
                _ => None,
            };
            let same_word = link.state.as_str() == state.as_str() && cause(&link.state) == cause(state);
            // The first moment of an outage counts, not the latest.
            let next = match (&link.state, state) {
                (ClusterState::Unreachable { since, .. }, ClusterState::Unreachable { cause, why, .. }) => {
                    ClusterState::Unreachable { since: *since, cause: *cause, why: why.clone() }
                }
                _ => state.clone(),
            };
            let moved = connection.is_some();
            if let Some(connection) = connection {
                link.connection = Some(connection);
            }
            link.returns += u64::from(*state == ClusterState::Ready && (moved || link.state != ClusterState::Ready));
            link.state = next;
            moved || !same_word
        });
        if changed {
            for cluster in self.clusters() {
                cluster.tell_state();
            }
        }
    }

    /// Waits until requests go through.
    pub(crate) async fn ready(&self) -> Arc<Connection> {
        let mut link = self.link.subscribe();
        loop {
            if let Some(connection) = self.connection() {
                return connection;
            }
            if link.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// It was restored from a backup: whatever was seen before is not what is there. Said once after each return.
    pub(crate) fn gone_back(&self) {
        let returns = self.returns();
        if self.restored.swap(returns, Ordering::Relaxed) == returns {
            return;
        }
        self.kinds.crds.doubt(Doubt::Restored);
        self.begin_anew(Doubt::Restored);
    }

    /// Whatever was seen before may be old, and counts for nothing until it is listed again.
    pub(crate) fn list_anew(&self) {
        self.begin_anew(Doubt::Old);
    }

    fn begin_anew(&self, why: Doubt) {
        self.clusters().iter().for_each(|cluster| cluster.doubt(why));
        // After that: a watch that begins anew is to find that it has to list.
        self.link.send_modify(|link| link.anew += 1);
    }

    /// Waits until another connection has taken this one's place, or all has to be listed again: true.
    pub(crate) fn replaced(&self, connection: &Connection) -> impl Future<Output = bool> + use<> {
        let mut link = self.link.subscribe();
        let times = (Some(connection.generation), link.borrow().anew);
        async move {
            let newer = |link: &Link| link.connection.is_some() && link.times() != times;
            let anew = link.wait_for(newer).await.map(|link| link.anew);
            match anew {
                Ok(anew) => anew != times.1,
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Waits until requests go through and a kind is served.
    pub(crate) async fn serving(&self, gvk: &GroupVersionKind) -> (Arc<Connection>, Arc<KindInfo>) {
        let mut kinds = self.kinds.changes();
        loop {
            let connection = self.ready().await;
            if let KindState::Found(info) = self.kinds.state(gvk) {
                return (connection, info);
            }
            if kinds.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until somebody says of what is watched that nobody can tell what there is.
    pub(crate) fn lost<'a>(&'a self, index: &'a Index) -> impl Future<Output = ()> + 'a {
        let (mut kinds, before) = (self.kinds.changes(), index.losses());
        async move {
            while index.losses() == before {
                if kinds.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// What is known of a kind does not fit what the server says: it is asked for again.
    pub fn refresh_kind(&self, gvk: &GroupVersionKind) {
        self.kinds.doubt(gvk);
    }

    pub(crate) fn kind_missing(&self, gvk: &GroupVersionKind) {
        self.set_kind(gvk, &KindState::Missing, &Reading::Nothing);
        self.refresh_kind(gvk);
    }

    /// Records what discovery says and tells of changes, one after the other: what is told last is what is known.
    pub(crate) fn set_kind(&self, gvk: &GroupVersionKind, state: &KindState, reading: &Reading) {
        let _turn = lock(&self.telling);
        let Some(news) = self.kinds.take(gvk, state, reading) else { return };
        let schema = match news {
            News::State => SchemaNews::Same,
            News::Schema => reading.news(),
        };
        let clusters = self.clusters();
        if *state == KindState::Missing {
            for cluster in &clusters {
                cluster.mark_incomplete(gvk);
            }
        }
        self.kinds.changed();
        for cluster in clusters {
            cluster.tell_kind(gvk, state, schema);
        }
    }
}

#[cfg(test)]
impl Server {
    /// To which nothing connects.
    pub(crate) fn unconnected(name: ClusterName, share: &Arc<Share>) -> Arc<Self> {
        let kubeconfig = Kubeconfig::stub();
        let traffic = crate::traffic::Traffics::new(1).on(&kubeconfig.way());
        Self::new(name, &crate::conventions::PLAIN, kubeconfig, traffic, share)
    }
}
