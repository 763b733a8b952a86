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
use tokio_util::sync::CancellationToken;

use crate::{
    definitions::{self, machine::DefinitionMachine},
    graphs::Graphs,
    instances::machine::InstanceMachine,
    options::Options,
};

/// Runs until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let signals = Signals::catch()?;
    let (name, kubeconfig) =
        clusters::given(Role::Coordination, options.kubeconfig.as_deref(), false, "--kubeconfig").await?;
    let namespace = options.leader_election_namespace.clone();
    let namespace = namespace.or_else(|| kubeconfig.namespace().map(str::to_owned)).unwrap_or_else(|| "default".into());
    let engine = Engine::new(Decisions::start(METERS.slow)?, &METERS);
    let graphs = Graphs::new(options, name.clone(), &engine);
    let stop = engine.stop.clone();
    let _subscriptions = definitions::listen::listen(&graphs, engine.fleet());
    let (health, numbers) = (graphs.options.health_probe_bind_address, graphs.options.metrics_bind_address);
    serve::serve(Arc::clone(&graphs), health, numbers, stop.clone()).await?;
    let defining = tokio::spawn(worker::run(DefinitionMachine::new(Arc::clone(&graphs)), stop.clone()));
    let keeping = tokio::spawn(worker::run(InstanceMachine::new(Arc::clone(&graphs)), stop.clone()));
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
        led.instances.enqueue_of(&led.hub);
    };
    let election = tokio::spawn(election::elect(engine, place, look_at_all, release.clone()));

    let (work, patience) = (vec![defining, keeping], graphs.options.graceful_shutdown_timeout);
    Ending { stop, work, patience, release, election }.after(signals).await;
    Ok(())
}
