//! `/healthz`, `/readyz` and `/metrics`.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use anyhow::Context as _;
use axum::{Router, extract::State, http::StatusCode, routing::get};
use resource_broker::options::{Bind, Disabled};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{context::Context, metrics::METRICS, options::Options};

/// Serves what the flags ask for until `stop`. Metrics and probes may share an address.
pub async fn serve(context: &Arc<Context>, options: &Options, stop: &CancellationToken) -> anyhow::Result<()> {
    let probes = || Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(readyz));
    let metrics = || Router::new().route("/metrics", get(metrics));
    let mut routers: Vec<(SocketAddr, Router<Arc<Context>>)> = Vec::new();
    match (options.health_probe_bind_address, options.metrics_bind_address) {
        (Disabled::On(health), Disabled::On(at)) if health == at => routers.push((at, probes().merge(metrics()))),
        (health, at) => {
            routers.extend(on(health, probes()));
            routers.extend(on(at, metrics()));
        }
    }
    for (address, router) in routers {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let (stop, router) = (stop.clone(), router.with_state(Arc::clone(context)));
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        });
    }
    Ok(())
}

fn on(bind: Bind, router: Router<Arc<Context>>) -> Option<(SocketAddr, Router<Arc<Context>>)> {
    match bind {
        Disabled::On(address) => Some((address, router)),
        Disabled::Off => None,
    }
}

/// Ready once the Brokers could be listed, also while another process leads.
async fn readyz(State(context): State<Arc<Context>>) -> (StatusCode, &'static str) {
    if context.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ok\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "Brokers could not be listed yet: is their CRD installed, and may they be listed?\n",
        )
    }
}

async fn metrics() -> (StatusCode, String) {
    match METRICS.encode() {
        Ok(text) => (StatusCode::OK, text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
    }
}
