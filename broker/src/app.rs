//! Starts the parts, and ends them in order.

use std::{sync::Arc, time::Duration};

use broker_api::Role;
use k8s_openapi::api::coordination::v1::Lease;
use runtime_fleet::lease::{ApiLease, Elector, Leadership, LeaseOptions, LeaseStore, StoreError};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    accept_apis, accept_changes, brake,
    broker::{Broker, Channels},
    decisions::Decisions,
    events, migrations,
    options::Options,
    server, signing, sources, worker,
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
    let (broker, channels) = Broker::new(options, namespace, Decisions::start()?);
    let Channels { accept_changes, secret_changes, configuration_changes } = channels;
    let stop = broker.stop.clone();
    server::serve(Arc::clone(&broker), stop.clone()).await?;
    let work = tokio::spawn(worker::run(Arc::clone(&broker), stop.clone()));
    let migrating = tokio::spawn(migrations::worker::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(migrations::configured::compile(Arc::clone(&broker), configuration_changes, stop.clone()));
    tokio::spawn(migrations::configured::report(Arc::clone(&broker), stop.clone()));
    tokio::spawn(accept_changes::run(Arc::clone(&broker), accept_changes, stop.clone()));
    tokio::spawn(accept_apis::report(Arc::clone(&broker), stop.clone()));
    tokio::spawn(brake::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(signing::run(Arc::clone(&broker), stop.clone()));
    tokio::spawn(events::run(Arc::clone(&broker), stop.clone()));
    broker.fleet().engage(&hub, Arc::new(kubeconfig));
    if let Some((compute, kubeconfig)) = compute {
        broker.fleet().engage(&compute, Arc::new(kubeconfig));
    }
    tokio::spawn(sources::run(Arc::clone(&broker), secret_changes, stop.clone()));
    let release = CancellationToken::new();
    let election = tokio::spawn(elect(Arc::clone(&broker), release.clone()));

    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: finishing the writes in hand"),
        _ = interrupt.recv() => info!("SIGINT: finishing the writes in hand"),
    }
    stop.cancel();
    let both = tokio::spawn(async move {
        let _ = tokio::join!(work, migrating);
    });
    wait(both, DRAIN, "writes in hand").await;
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
        let _ = broker.leadership.set(Leadership::always());
        broker.look_at_all().await;
        return;
    }
    let lease = HubLease { broker: broker.itself() };
    let (elector, leadership) =
        Elector::with_store(lease, LeaseOptions::new(broker.namespace.clone(), broker.options.lease_name.clone()));
    let mut changes = leadership.changes();
    let _ = broker.leadership.set(leadership);
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
        Ok(ApiLease::new(connection.caller.client().clone(), &self.broker.namespace, &self.broker.options.lease_name))
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
        for key in self.records.select(|_, record| record.owed) {
            self.enqueue(key);
        }
        self.migrations.enqueue_all();
        let others = self.records.select(|_, record| !record.owed);
        for batch in others.chunks(BATCH) {
            batch.iter().cloned().for_each(|key| self.enqueue(key));
            let until = Instant::now() + BATCH_WAIT;
            while self.queue.stats().depth >= BATCH && Instant::now() < until {
                sleep(Duration::from_millis(2)).await;
            }
        }
    }
}
