//! Starts the parts, and ends them in order.

use std::{sync::Arc, time::Duration};

use broker_api::Role;
use k8s_openapi::api::coordination::v1::Lease;
use runtime_engine::{decisions::Decisions, engine::Engine, recorder::events, worker};
use runtime_fleet::{
    cluster::Labels,
    lease::{ApiLease, Elector, Leadership, LeaseOptions, LeaseStore, StoreError},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    acceptance::{self, AcceptMachine},
    brake,
    broker::{Broker, Channels},
    listen::listen,
    metrics,
    migrations::{self, ConfigurationMachine, MigrationMachine},
    options::Options,
    origins::Origins,
    server, signing, sources, sync,
};

/// How long writes in hand may take after SIGTERM. Nobody is served meanwhile, and an API server that does not answer must
/// not make that long; what its write became is seen by whoever leads next, as after a crash.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs the broker until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    sources::check(&options)?;
    let (hub, kubeconfig) = sources::coordination(&options).await?;
    let compute = sources::compute(&options).await?;
    let namespace = options
        .namespace
        .clone()
        .or_else(|| kubeconfig.namespace().map(str::to_owned))
        .unwrap_or_else(|| "default".into());
    let engine = Engine::new(Decisions::start(metrics::METERS.slow)?, &metrics::METERS);
    let (broker, channels) = Broker::new(options, namespace, &engine);
    let Channels { accept_changes, secret_changes, configuration_changes } = channels;
    let stop = engine.stop.clone();
    let _subscriptions = listen(&broker, engine.fleet());
    server::serve(Arc::clone(&broker), stop.clone()).await?;
    let work = tokio::spawn(Origins::run(Arc::clone(&broker), stop.clone()));
    let telling = tokio::spawn(worker::run(AcceptMachine::new(Arc::clone(&broker)), stop.clone()));
    let configuring = tokio::spawn(worker::run(ConfigurationMachine::new(Arc::clone(&broker)), stop.clone()));
    let migrating = tokio::spawn(worker::run(MigrationMachine::new(Arc::clone(&broker)), stop.clone()));
    tokio::spawn(migrations::configured::compile(Arc::clone(&broker), configuration_changes, stop.clone()));
    tokio::spawn(acceptance::changes::run(Arc::clone(&broker), accept_changes, stop.clone()));
    tokio::spawn(sync::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(brake::look::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(signing::secrets::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(events::run(engine, stop.clone()));
    // What stands beside their files is the sources' to read. Beside the Pod's own service account there is nothing.
    let labels = broker.options.coordination().is_none().then(Labels::default);
    broker.fleet().engage(&hub, Arc::new(kubeconfig), labels);
    if let Some((compute, kubeconfig)) = compute {
        broker.fleet().engage(&compute, Arc::new(kubeconfig), None);
    }
    tokio::spawn(sources::run(Arc::clone(&broker), secret_changes, stop.clone()));
    let release = CancellationToken::new();
    let election = tokio::spawn(elect(Arc::clone(&broker), release.clone()));

    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: finishing the writes in hand"),
        _ = interrupt.recv() => info!("SIGINT: finishing the writes in hand"),
    }
    stop.cancel();
    let all = tokio::spawn(async move {
        let _ = tokio::join!(work, migrating, telling, configuring);
    });
    wait(all, DRAIN, "writes in hand").await;
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

/// Takes part in the election, if there is one, and looks at everything again when this process comes to lead.
async fn elect(broker: Arc<Broker>, release: CancellationToken) {
    if !broker.options.leader_elect {
        broker.engine.set_leadership(Leadership::always());
        broker.look_at_all().await;
        return;
    }
    let lease = HubLease { broker: broker.itself() };
    let (elector, leadership) =
        Elector::with_store(lease, LeaseOptions::new(broker.namespace.clone(), broker.options.lease_name.clone()));
    let mut changes = leadership.changes();
    broker.engine.set_leadership(leadership);
    let follow = async {
        while changes.changed().await.is_ok() {
            let leads = *changes.borrow_and_update();
            info!(leads, "leadership changed");
            if leads {
                broker.look_at_all().await;
            }
        }
    };
    tokio::select! {
        () = elector.run(release) => {}
        () = follow => {}
    }
}

/// The Lease in the coordination cluster, through whatever connection there is now: its credentials may rotate.
struct HubLease {
    broker: Arc<Broker>,
}

impl HubLease {
    fn api(&self) -> Result<ApiLease, StoreError> {
        let hub = self.broker.fleet().in_role(Role::Coordination);
        let connection = hub.iter().find_map(|hub| hub.connection());
        let connection = connection.ok_or_else(|| StoreError::Other("the coordination cluster is not ready".into()))?;
        Ok(ApiLease::new(connection.caller.client(), &self.broker.namespace, &self.broker.options.lease_name))
    }
}

impl LeaseStore for HubLease {
    async fn get(&self) -> Result<Option<Lease>, StoreError> {
        self.api()?.get().await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api()?.create(lease).await
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api()?.replace(lease).await
    }

    async fn released(&self, seen: &Lease) -> Result<bool, StoreError> {
        self.api()?.released(seen).await
    }
}

/// How many origins are looked at again at once.
const BATCH: usize = 32;

/// How long a batch waits at the most for the one before it.
const BATCH_WAIT: Duration = Duration::from_millis(50);

impl Broker {
    /// Every origin and every Migration that is known is looked at again: those for which a follower had wanted to do
    /// something at once, the others little by little, so that what happens now need not wait for all of them.
    async fn look_at_all(&self) {
        for key in self.records.owed() {
            self.enqueue(key);
        }
        self.migrations.enqueue_all();
        self.enqueue_configurations();
        self.look_after_providers();
        let others = self.records.not_owed();
        for batch in others.chunks(BATCH) {
            batch.iter().cloned().for_each(|key| self.enqueue(key));
            let until = Instant::now() + BATCH_WAIT;
            while self.queue.stats().depth >= BATCH && Instant::now() < until {
                sleep(Duration::from_millis(2)).await;
            }
        }
    }
}
