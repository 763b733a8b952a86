//! `Graphs`: what all parts of the process share.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
};

use broker_api::{ClusterName, Role};
use graphs_core::{applyset::GroupKind, graph::Bounds};
use runtime_cel::graph::Evaluator;
use runtime_engine::engine::Engine;
use runtime_fleet::{
    budget::Budget,
    cluster::{Cause, ClusterState},
    dial::Dial,
    fleet::{Fleet, FleetOptions},
    listener::ClusterSelector,
    subscription::Subscription,
};
use runtime_process::metrics::meter;
use tracing::info;

use crate::{
    clusters::Clusters,
    compiled::Compiler,
    conventions::CONVENTIONS,
    definitions::{DefinitionKey, Definitions},
    instances::{self, Instances, groups::Groups},
    kinds::Kinds,
    options::Options,
    rollouts::Rollouts,
    serving::Serving,
    spokes::Spokes,
    watches::{Fixed, Holder, Need, Needed},
};

/// Length of what tells hubs apart.
const HUB_ID: usize = 12;

/// What all parts of the process share.
pub struct Graphs {
    /// The command line.
    pub options: Options,
    /// The cluster that RGDs are read from.
    pub hub: ClusterName,
    /// What its machines run on.
    pub engine: Arc<Engine>,
    /// What is watched always.
    pub fixed: Fixed,
    /// What is watched as long as it is needed.
    pub needed: Needed,
    /// How kinds are served.
    pub kinds: Kinds,
    /// RGDs.
    pub definitions: Definitions,
    /// Spokes that are configured.
    pub clusters: Clusters,
    /// RGDs in spokes.
    pub spokes: Spokes,
    /// Which spoke gets what.
    pub rollouts: Rollouts,
    /// Instances.
    pub instances: Instances,
    /// From what instances are served.
    pub serving: Serving,
    /// In which versions groups are served.
    pub groups: Groups,
    /// Evaluates CEL.
    pub evaluator: Evaluator,
    itself: Weak<Self>,
}

impl Graphs {
    /// Without clusters, on the current runtime. Reaches API servers through `dial`.
    pub fn new(
        options: Options,
        hub: ClusterName,
        engine: &Arc<Engine>,
        evaluator: Evaluator,
        dial: Arc<dyn Dial>,
    ) -> Arc<Self> {
        let graphs = Arc::new_cyclic(|itself| Self {
            hub,
            engine: Arc::clone(engine),
            fixed: Fixed::new(
                options.cluster_secrets_namespace.as_deref().unwrap_or_default(),
                &options.cluster_secrets_label,
            ),
            needed: Needed::default(),
            kinds: Kinds::default(),
            definitions: Definitions::default(),
            clusters: Clusters::default(),
            spokes: Spokes::default(),
            rollouts: Rollouts::default(),
            instances: Instances::default(),
            serving: Serving::default(),
            groups: Groups::default(),
            evaluator,
            itself: itself.clone(),
            options,
        });
        let budget = Budget::new(graphs.options.memory_budget.unwrap_or_else(Budget::of_process));
        info!(bytes = budget.limit(), "memory budget for what is held of the cluster");
        engine.set_fleet(Fleet::new(FleetOptions {
            conventions: &CONVENTIONS,
            observer: Arc::clone(&graphs) as Arc<_>,
            meter,
            budget,
            concurrent_writes: graphs.options.concurrent_writes,
            dial,
        }));
        graphs
    }

    /// Without clusters, for tests.
    #[cfg(test)]
    pub(crate) fn alone() -> Arc<Self> {
        use clap::Parser as _;
        use runtime_engine::decisions::Decisions;
        use runtime_fleet::dial::Sockets;
        use runtime_process::metrics::METERS;

        let options = Options::try_parse_from(["resource-graphs", "--enable-multicluster"]).unwrap();
        let engine = Engine::new(Decisions::start(METERS.slow).unwrap(), &METERS);
        let hub = ClusterName::new(Role::Coordination, "hub");
        Self::new(options, hub, &engine, graphs_core::limits::evaluator(), Arc::new(Sockets))
    }

    /// Engages a cluster to which nobody can connect.
    #[cfg(test)]
    pub(crate) fn engage_unreachable(&self, name: &ClusterName) -> Arc<runtime_fleet::cluster::Cluster> {
        use runtime_fleet::kubeconfig::{Kubeconfig, Trust};

        let text = "current-context: m\ncontexts: [{name: m, context: {cluster: c, user: u}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n";
        self.fleet().engage(name, Arc::new(Kubeconfig::parse(text, &Trust::Secret).unwrap()), None);
        self.fleet().cluster(name).unwrap()
    }

    /// The clusters.
    pub fn fleet(&self) -> &Arc<Fleet> {
        self.engine.fleet()
    }

    /// For tasks that outlive the borrow: whoever calls holds a reference already.
    pub(crate) fn itself(&self) -> Arc<Self> {
        self.itself.upgrade().unwrap_or_else(|| unreachable!("the caller holds a reference"))
    }

    /// The RGD of this name.
    pub(crate) fn hub_key(&self, name: &Arc<str>) -> DefinitionKey {
        DefinitionKey { cluster: self.hub.clone(), name: Arc::clone(name) }
    }

    /// 12 hexadecimal digits that tell this hub from others: of the uid of its `kube-system`. `None`: that is not known.
    pub(crate) fn hub_id(&self) -> Option<String> {
        let uid = self.engaged(&self.hub)?.server().identity()?;
        let id: String = uid.chars().filter(char::is_ascii_hexdigit).take(HUB_ID).collect();
        (id.len() == HUB_ID).then_some(id)
    }

    /// Clusters that may have kinds which the hub has not, whether or not they are reached now. One that is no spoke, for it
    /// is another's cluster, has none.
    pub(crate) fn others(&self) -> Vec<ClusterName> {
        let is_spoke = |state: &ClusterState| match state {
            ClusterState::Unreachable { cause, .. } => *cause == Cause::Lost,
            ClusterState::Connecting | ClusterState::Ready => true,
            ClusterState::Leaving => false,
        };
        let spokes = self.fleet().in_role(Role::Spoke).into_iter();
        spokes.filter(|spoke| is_spoke(&spoke.state())).map(|spoke| spoke.name().clone()).collect()
    }

    /// Compiles with what is known of a cluster's kinds; of those that it does not serve, with what `others` say.
    pub(crate) fn compiler<'a>(
        &'a self,
        cluster: &'a ClusterName,
        others: &'a [ClusterName],
        is_defined: &'a dyn Fn(&str, &str) -> bool,
        plural: &'a dyn Fn(&GroupKind) -> Option<String>,
    ) -> Compiler<'a> {
        let bounds = Bounds {
            collection: self.options.rgd_max_collection_size,
            dimensions: self.options.rgd_max_collection_dimension_size,
            own_namespace: self.options.restrict_namespaces,
            ..Bounds::default()
        };
        Compiler { cluster, others, kinds: &self.kinds, evaluator: &self.evaluator, bounds, is_defined, plural }
    }

    /// From now on a holder needs these of a cluster.
    pub(crate) fn need(&self, holder: &Holder, cluster: &ClusterName, needs: BTreeSet<Need>) {
        self.need_at(holder, needs.into_iter().map(|need| (cluster.clone(), need)).collect());
    }

    /// From now on a holder needs these, each of a cluster.
    pub(crate) fn need_at(&self, holder: &Holder, places: BTreeSet<(ClusterName, Need)>) {
        self.needed.set(holder, places, |(cluster, need)| self.listen(cluster, need));
    }

    fn listen(&self, cluster: &ClusterName, need: &Need) -> Subscription {
        let (selector, spec) = (ClusterSelector::Name(cluster.clone()), need.spec());
        instances::listen::listen(&self.itself(), &selector, need, &spec)
    }
}
