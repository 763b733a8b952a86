//! Starts the parts, and ends them in order.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use broker_api::{ClusterName, Role, graphs::keys};
use runtime_engine::{decisions::Decisions, engine::Engine, recorder::events, worker};
use runtime_fleet::{
    cluster::Labels,
    kubeconfig::{Kubeconfig, Trust},
    source::cluster_of,
};
use runtime_process::{election, serve};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    definitions::{self, machine::DefinitionMachine},
    graphs::Graphs,
    instances::machine::InstanceMachine,
    metrics,
    options::Options,
};

/// Name of the cluster where the Pod's own is used.
const IN_CLUSTER: &str = "in-cluster";

async fn hub(options: &Options) -> anyhow::Result<(ClusterName, Kubeconfig)> {
    let role = Role::Coordination;
    let Some(path) = &options.kubeconfig else {
        let own = Kubeconfig::in_cluster();
        let kubeconfig = own.context("no cluster: give its kubeconfig with --kubeconfig, or run in a Pod")??;
        return Ok((ClusterName::new(role, IN_CLUSTER), kubeconfig));
    };
    let text = tokio::fs::read_to_string(path)
        .await
        .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
    let folder = path.parent().unwrap_or(path).to_owned();
    let kubeconfig = Kubeconfig::parse(&text, &Trust::File { folder, allow_local: false })
        .with_context(|| format!("the kubeconfig {} cannot be used", path.display()))?;
    Ok((cluster_of(role, path).unwrap_or_else(|| ClusterName::new(role, role.as_str())), kubeconfig))
}

/// Runs until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (name, kubeconfig) = hub(&options).await?;
    let namespace = options.leader_election_namespace.clone();
    let namespace = namespace.or_else(|| kubeconfig.namespace().map(str::to_owned)).unwrap_or_else(|| "default".into());
    let engine = Engine::new(Decisions::start(metrics::METERS.slow)?, &metrics::METERS);
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

    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: finishing the writes in hand"),
        _ = interrupt.recv() => info!("SIGINT: finishing the writes in hand"),
    }
    stop.cancel();
    let all = tokio::spawn(async move {
        let _ = tokio::join!(defining, keeping);
    });
    wait(all, graphs.options.graceful_shutdown_timeout, "writes in hand").await;
    // Only now: until then the lease covers the last writes.
    release.cancel();
    wait(election, Duration::from_secs(2), "the release of the lease").await;
    info!("bye");
    Ok(())
}

async fn wait(task: JoinHandle<()>, limit: Duration, what: &str) {
    if tokio::time::timeout(limit, task).await.is_err() {
        warn!("gave up waiting for {what}");
    }
}
