//! Starts the parts, and ends them in order.

use std::{sync::Arc, time::Duration};

use broker_api::ClusterName;
use runtime_cel::expression::Evaluator;
use runtime_engine::{decisions::Decisions, engine::Engine, recorder::events, worker};
use runtime_fleet::{
    cluster::Labels,
    crash::spawn,
    dial::{Dial, Sockets},
    kubeconfig::Kubeconfig,
    subscription::Subscription,
};
use runtime_process::{
    election,
    life::{Ending, Signals},
    metrics::METERS,
    serve,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    acceptance::{self, AcceptMachine},
    brake,
    broker::{Broker, Channels},
    dashboard,
    listen::listen,
    migrations::{self, ConfigurationMachine, MigrationMachine},
    options::Options,
    origins::machine::OriginMachine,
    signing, sources, sync,
};

/// How long writes in hand may take after SIGTERM. Nobody is served meanwhile, and an API server that does not answer must
/// not make that long; what its write became is seen by whoever leads next, as after a crash.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs the broker until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let signals = Signals::catch()?;
    sources::check(&options)?;
    let own = Own { hub: sources::coordination(&options).await?, compute: sources::compute(&options).await? };
    let running = start(options, own, Decisions::start(METERS.slow)?, Evaluator::new(), Arc::new(Sockets)).await?;
    running.ending.after(signals).await;
    Ok(())
}

/// The clusters that the broker itself works in, and how to reach them.
pub struct Own {
    /// The coordination cluster.
    pub hub: (ClusterName, Kubeconfig),
    /// The compute cluster, where it is another.
    pub compute: Option<(ClusterName, Kubeconfig)>,
}

/// A broker at work.
pub struct Running {
    /// What its parts share.
    pub broker: Arc<Broker>,
    /// Ends it.
    pub ending: Ending,
    /// It hears of nothing any more without them.
    pub subscriptions: Vec<Subscription>,
}

/// A broker that only looks on.
pub struct Onlooker {
    /// What its parts share.
    pub broker: Arc<Broker>,
    /// It hears of nothing any more without them.
    pub subscriptions: Vec<Subscription>,
    work: Vec<JoinHandle<()>>,
    hub: ClusterName,
}

/// Starts the broker in clusters of its `own`: it decides on `decisions`, evaluates what people write with `evaluator`, and
/// reaches API servers through `dial`.
///
/// # Errors
/// It cannot serve where the flags say.
pub async fn start(
    options: Options,
    own: Own,
    decisions: Decisions,
    evaluator: Evaluator,
    dial: Arc<dyn Dial>,
) -> anyhow::Result<Running> {
    let Onlooker { broker, subscriptions, work, hub } = look_on(options, own, decisions, evaluator, dial);
    let stop = broker.engine.stop.clone();
    let (health, metrics) = (broker.options.health_probe_bind_address, broker.options.metrics_bind_address);
    serve::serve(Arc::clone(&broker), health, metrics, stop.clone()).await?;
    dashboard::serve(&broker, stop.clone()).await?;
    let release = CancellationToken::new();
    let place = broker.options.leader_elect.then(|| election::Place {
        cluster: hub,
        namespace: broker.namespace.clone(),
        lease: broker.options.lease_name.clone(),
    });
    let led = Arc::clone(&broker);
    let election =
        election::elect(Arc::clone(&broker.engine), place, async move || look_at_all(&led).await, release.clone());
    let election = spawn(election);
    let ending = Ending { stop, work, patience: DRAIN, release, election };
    Ok(Running { broker, ending, subscriptions })
}

/// The same without an election: it sees and decides everything, never leads, and so never writes. `stop` of its engine ends it.
pub fn look_on(
    options: Options,
    own: Own,
    decisions: Decisions,
    evaluator: Evaluator,
    dial: Arc<dyn Dial>,
) -> Onlooker {
    let Own { hub: (hub, kubeconfig), compute } = own;
    let namespace = options
        .namespace
        .clone()
        .or_else(|| kubeconfig.namespace().map(str::to_owned))
        .unwrap_or_else(|| "default".into());
    let engine = Engine::new(decisions, &METERS);
    let (broker, channels) = Broker::new(options, namespace, &engine, evaluator, dial);
    let Channels { accept_changes, secret_changes, configuration_changes } = channels;
    let stop = engine.stop.clone();
    let subscriptions = listen(&broker, engine.fleet());
    let work = spawn(OriginMachine::run(Arc::clone(&broker), stop.clone()));
    let telling = spawn(worker::run(AcceptMachine::new(Arc::clone(&broker)), stop.clone()));
    let configuring = spawn(worker::run(ConfigurationMachine::new(Arc::clone(&broker)), stop.clone()));
    let migrating = spawn(worker::run(MigrationMachine::new(Arc::clone(&broker)), stop.clone()));
    spawn(migrations::configured::compile(Arc::clone(&broker), configuration_changes, stop.clone()));
    spawn(acceptance::changes::run(Arc::clone(&broker), accept_changes, stop.clone()));
    spawn(sync::run(Arc::clone(&broker), stop.clone()));
    spawn(brake::look::run(Arc::clone(&broker), stop.clone()));
    spawn(signing::secrets::run(Arc::clone(&broker), stop.clone()));
    spawn(events::run(engine, stop.clone()));
    // What stands beside their files is the sources' to read. Beside the Pod's own service account there is nothing.
    let labels = broker.options.coordination().is_none().then(Labels::default);
    broker.fleet().engage(&hub, Arc::new(kubeconfig), labels);
    if let Some((compute, kubeconfig)) = compute {
        broker.fleet().engage(&compute, Arc::new(kubeconfig), None);
    }
    spawn(sources::run(Arc::clone(&broker), secret_changes, stop));
    Onlooker { broker, subscriptions, work: vec![work, migrating, telling, configuring], hub }
}

/// How many origins are looked at again at once.
const BATCH: usize = 32;

/// How long a batch waits at the most for the one before it.
const BATCH_WAIT: Duration = Duration::from_millis(50);

/// Every origin and every Migration that is known is looked at again: those for which a follower had wanted to do
/// something at once, the others little by little, so that what happens now need not wait for all of them.
async fn look_at_all(broker: &Broker) {
    broker.origins.enqueue_each(broker.origins.records.owed());
    broker.migrations.enqueue_all();
    broker.enqueue_configurations(broker.configuring.current.load().keys());
    broker.namespaces.sweep_anew();
    broker.look_after_providers();
    let others = broker.origins.records.not_owed();
    for batch in others.chunks(BATCH) {
        broker.origins.enqueue_each(batch.iter().cloned());
        let until = Instant::now() + BATCH_WAIT;
        while broker.origins.queue.stats().depth >= BATCH && Instant::now() < until {
            sleep(Duration::from_millis(2)).await;
        }
    }
}
