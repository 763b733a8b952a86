//! Starts the parts, and ends them in order.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use anyhow::Context as _;
use broker_api::broker::Broker;
use kube::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use runtime_fleet::{
    backoff::Backoff,
    lease::{Elector, Leadership, LeaseOptions},
};
use runtime_process::{life::Signals, serve};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    call::call, context::Context, controller, defaults::Defaults, image::Image, metrics::METRICS, options::Options,
};

/// How long the release of the lease may take; afterwards it expires by itself.
const RELEASE: Duration = Duration::from_secs(3);
/// Longest time without an answer to a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Runs the operator until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut signals = Signals::catch()?;
    let mut config = config(&options).await?;
    config.connect_timeout = Some(CONNECT);
    let namespace = options.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let client = Client::try_from(config).context("the kubeconfig cannot be used")?;
    let defaults = Defaults {
        broker: Image::parse(&options.broker_image),
        graphs: Image::parse(&options.graphs_image),
        namespace: namespace.clone(),
    };
    let context = Arc::new(Context::new(client.clone(), defaults));
    let stop = CancellationToken::new();
    let (health, metrics) = (options.health_probe_bind_address, options.metrics_bind_address);
    serve::serve(Arc::clone(&context), health, metrics, stop.clone()).await?;
    tokio::spawn(until_listed(Arc::clone(&context)));
    let release = CancellationToken::new();
    let (leadership, election) = if options.leader_elect {
        let lease = LeaseOptions::new(namespace, options.lease_name.clone());
        let (elector, leadership) = Elector::new(client, lease);
        (Some(leadership), Some(tokio::spawn(elector.run(release.clone()))))
    } else {
        (None, None)
    };
    tokio::select! {
        () = lead(&context, leadership.as_ref(), &options.lease_name) => {}
        signal = signals.first() => info!("{signal}"),
    }
    // The controller is gone by now. A write that it was about is seen by whoever leads next.
    stop.cancel();
    release.cancel();
    if let Some(election) = election {
        let _ = tokio::time::timeout(RELEASE, election).await;
    }
    info!("bye");
    Ok(())
}

async fn config(options: &Options) -> anyhow::Result<Config> {
    match &options.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            config.with_context(|| format!("{} cannot be used", path.display()))
        }
        None => Config::incluster().context("not in a Pod: name a kubeconfig with --kubeconfig"),
    }
}

/// Works, and in an election only while this process leads.
async fn lead(context: &Arc<Context>, leadership: Option<&Leadership>, lease: &str) {
    let Some(leadership) = leadership else { return controller::run(Arc::clone(context)).await };
    let mut changes = leadership.changes();
    loop {
        let leads = *changes.borrow_and_update();
        METRICS.leads(lease, leads);
        let work = async {
            if leads {
                controller::run(Arc::clone(context)).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = work => {}
            () = lost(leadership), if leads => {}
            turned = changes.changed() => if turned.is_err() { return },
        }
    }
}

/// Ready is who can list Brokers, also before it comes to lead: for that another one may be waiting to be replaced.
async fn until_listed(context: Arc<Context>) {
    let brokers: Api<Broker> = Api::all(context.client.clone());
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    while let Err(error) = call(brokers.list_metadata(&ListParams::default().limit(1))).await {
        warn!(%error, "cannot list Brokers: is their CRD installed, and is config/operator/role.yaml applied?");
        tokio::time::sleep(backoff.wait()).await;
    }
    context.ready.store(true, Ordering::Relaxed);
}

/// Until the lease has run out. It reads the clock, so a process that was frozen stops before it writes.
async fn lost(leadership: &Leadership) {
    while let Some(until) = leadership.valid_until().filter(|until| *until > Instant::now()) {
        tokio::time::sleep_until(until).await;
    }
}
