//! Starts the parts, and ends them in order.

use std::sync::Arc;

use broker_api::{Role, graphs::keys};
use runtime_engine::{decisions::Decisions, engine::Engine, recorder::events, worker};
use runtime_fleet::cluster::Labels;
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
pub async fn run(mut options: Options) -> anyhow::Result<()> {
    let signals = Signals::catch()?;
    let (name, kubeconfig) =
        clusters::given(Role::Coordination, options.kubeconfig.as_deref(), false, "--kubeconfig").await?;
    let namespace = options.leader_election_namespace.clone();
    let namespace = namespace.or_else(|| kubeconfig.namespace().map(str::to_owned)).unwrap_or_else(|| "default".into());
    options.cluster_secrets_namespace.get_or_insert_with(|| namespace.clone());
    let engine = Engine::new(Decisions::start(METERS.slow)?, &METERS);
    let graphs = Graphs::new(options, name.clone(), &engine);
    let stop = engine.stop.clone();
    let mut subscriptions = definitions::listen::listen(&graphs, engine.fleet());
    let (health, numbers) = (graphs.options.health_probe_bind_address, graphs.options.metrics_bind_address);
    serve::serve(Arc::clone(&graphs), health, numbers, stop.clone()).await?;
    let defining = tokio::spawn(worker::run(DefinitionMachine::new(Arc::clone(&graphs)), stop.clone()));
    let keeping = tokio::spawn(worker::run(InstanceMachine::new(Arc::clone(&graphs)), stop.clone()));
    let mut work = vec![defining, keeping];
    if graphs.options.enable_multicluster {
        let (sender, changes) = mpsc::unbounded_channel();
        subscriptions.extend(sources::listen(&graphs, engine.fleet(), &sender));
        subscriptions.extend(spokes::listen::listen(&graphs, engine.fleet()));
        subscriptions.push(rollouts::listen::listen(&graphs, engine.fleet()));
        tokio::spawn(sources::run(Arc::downgrade(&graphs), changes, stop.clone()));
        work.push(tokio::spawn(worker::run(ClusterMachine::new(Arc::clone(&graphs)), stop.clone())));
        work.push(tokio::spawn(worker::run(RolloutMachine::new(Arc::clone(&graphs)), stop.clone())));
        work.push(tokio::spawn(worker::run(SpokeMachine::new(Arc::clone(&graphs)), stop.clone())));
    }
    tokio::spawn(events::run(Arc::clone(&engine), stop.clone()));
    graphs.fleet().engage(&name, Arc::new(kubeconfig), Some(Labels::default()));
    let place = graphs.options.leader_elect.then(|| election::Place {
        cluster: name.clone(),
        namespace,
        lease: keys::LEASE.to_owned(),
    });
    let release = CancellationToken::new();
    let led = Arc::clone(&graphs);
    let look_at_all = async move || {
        led.definitions.enqueue_all();
        led.look_at_rollouts();
        for cluster in led.fleet().clusters() {
            led.instances.enqueue_of(cluster.name());
            if cluster.name().role() == Role::Spoke {
                led.clusters.enqueue(cluster.name().clone());
                led.look_at_all_in(cluster.name());
            }
        }
    };
    let election = tokio::spawn(election::elect(engine, place, look_at_all, release.clone()));

    let patience = graphs.options.graceful_shutdown_timeout;
    Ending { stop, work, patience, release, election }.after(signals).await;
    drop(subscriptions);
    Ok(())
}
