//! Starts the parts, and ends them in order.

use std::sync::Arc;

use broker_api::{ClusterName, Role, graphs::keys};
use graphs_core::limits;
use runtime_cel::graph::Evaluator;
use runtime_engine::{decisions::Decisions, engine::Engine, recorder::events, worker};
use runtime_fleet::{
    cluster::Labels,
    crash::spawn,
    dial::{Dial, Sockets},
    kubeconfig::Kubeconfig,
    subscription::Subscription,
};
use runtime_process::{
    clusters, election,
    life::{Ending, Signals},
    metrics::METERS,
    serve,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    clusters::machine::ClusterMachine,
    definitions::{self, machine::DefinitionMachine},
    graphs::Graphs,
    instances::machine::InstanceMachine,
    options::Options,
    rollouts::{self, machine::RolloutMachine},
    sources,
    spokes::{self, machine::SpokeMachine},
};

/// Runs until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let signals = Signals::catch()?;
    let hub = clusters::given(Role::Coordination, options.kubeconfig.as_deref(), false, "--kubeconfig").await?;
    let decisions = Decisions::start(METERS.slow)?;
    let running = start(options, hub, decisions, limits::evaluator(), Arc::new(Sockets)).await?;
    running.ending.after(signals).await;
    Ok(())
}

/// A process at work.
pub struct Running {
    /// What its parts share.
    pub graphs: Arc<Graphs>,
    /// Ends it.
    pub ending: Ending,
    /// It hears of nothing any more without them.
    pub subscriptions: Vec<Subscription>,
}

/// Starts all machines for the cluster `hub`: they decide on `decisions`, evaluate what RGDs say with `evaluator`, and reach
/// API servers through `dial`.
///
/// # Errors
/// It cannot serve where the flags say.
pub async fn start(
    mut options: Options,
    hub: (ClusterName, Kubeconfig),
    decisions: Decisions,
    evaluator: Evaluator,
    dial: Arc<dyn Dial>,
) -> anyhow::Result<Running> {
    let (name, kubeconfig) = hub;
    let namespace = options.leader_election_namespace.clone();
    let namespace = namespace.or_else(|| kubeconfig.namespace().map(str::to_owned)).unwrap_or_else(|| "default".into());
    options.cluster_secrets_namespace.get_or_insert_with(|| namespace.clone());
    let engine = Engine::new(decisions, &METERS);
    let graphs = Graphs::new(options, name.clone(), &engine, evaluator, dial);
    let stop = engine.stop.clone();
    let mut subscriptions = definitions::listen::listen(&graphs, engine.fleet());
    let (health, numbers) = (graphs.options.health_probe_bind_address, graphs.options.metrics_bind_address);
    serve::serve(Arc::clone(&graphs), health, numbers, stop.clone()).await?;
    let defining = spawn(worker::run(DefinitionMachine::new(Arc::clone(&graphs)), stop.clone()));
    let keeping = spawn(worker::run(InstanceMachine::new(Arc::clone(&graphs)), stop.clone()));
    let mut work = vec![defining, keeping];
    if graphs.options.enable_multicluster {
        let (sender, changes) = mpsc::unbounded_channel();
        subscriptions.extend(sources::listen(&graphs, engine.fleet(), &sender));
        subscriptions.extend(spokes::listen::listen(&graphs, engine.fleet()));
        subscriptions.push(rollouts::listen::listen(&graphs, engine.fleet()));
        spawn(sources::run(Arc::downgrade(&graphs), changes, stop.clone()));
        work.push(spawn(worker::run(ClusterMachine::new(Arc::clone(&graphs)), stop.clone())));
        work.push(spawn(worker::run(RolloutMachine::new(Arc::clone(&graphs)), stop.clone())));
        work.push(spawn(worker::run(SpokeMachine::new(Arc::clone(&graphs)), stop.clone())));
    }
    spawn(events::run(Arc::clone(&engine), stop.clone()));
    graphs.fleet().engage(&name, Arc::new(kubeconfig), Some(Labels::default()));
    let place = graphs.options.leader_elect.then(|| election::Place {
        cluster: name.clone(),
        namespace,
        lease: keys::LEASE.to_owned(),
    });
    let release = CancellationToken::new();
    let led = Arc::clone(&graphs);
    let election = election::elect(engine, place, async move || led.look_at_all(), release.clone());
    let election = spawn(election);

    let ending = Ending { stop, work, patience: graphs.options.graceful_shutdown_timeout, release, election };
    Ok(Running { graphs, ending, subscriptions })
}

impl Graphs {
    /// Everything that is known is looked at again.
    pub(crate) fn look_at_all(&self) {
        self.definitions.enqueue_all();
        self.look_at_rollouts();
        for cluster in self.fleet().clusters() {
            self.instances.enqueue_of(cluster.name());
            if cluster.name().role() == Role::Spoke {
                self.clusters.enqueue(cluster.name().clone());
                self.look_at_all_in(cluster.name());
            }
        }
    }
}
