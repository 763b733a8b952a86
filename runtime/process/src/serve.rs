//! Probes and metrics over HTTP.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::{Router, extract::State, http::StatusCode, routing::get};
use runtime_fleet::{crash::spawn, queue::QueueStats};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bind::{Bind, Disabled};

/// Work that takes longer than this means that the process hangs: every call has a deadline far below.
const HUNG: Duration = Duration::from_mins(2);

/// Whether work on some key hangs; `Err`: for how long.
///
/// # Errors
/// It does.
pub fn hung(queues: impl IntoIterator<Item = QueueStats>) -> Result<(), String> {
    let longest = queues.into_iter().map(|stats| stats.longest_running).max().unwrap_or_default();
    if longest > HUNG { Err(format!("work has been under way for {} s", longest.as_secs())) } else { Ok(()) }
}

/// What a program says of itself.
pub trait Probed: Send + Sync + 'static {
    /// Whether it works at all; `Err`: why not. Who says no for long is started again.
    fn health(&self) -> Result<(), String>;

    /// Whether it knows what it has to know. In both cases what people should know beside it, a line each.
    fn ready(&self) -> Result<String, String>;

    /// The text that Prometheus reads. `None`: it cannot be told.
    fn metrics(&self) -> Option<String>;
}

/// Serves what the flags ask for until `stop`. Metrics and probes may share an address.
pub async fn serve<P: Probed>(
    program: Arc<P>,
    health: Bind,
    metrics: Bind,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let probes = || Router::new().route("/healthz", get(healthz::<P>)).route("/readyz", get(readyz::<P>));
    let numbers = || Router::new().route("/metrics", get(encoded::<P>));
    let mut routers: Vec<(SocketAddr, Router<Arc<P>>)> = Vec::new();
    match (health, metrics) {
        (Disabled::On(health), Disabled::On(at)) if health == at => routers.push((at, probes().merge(numbers()))),
        (health, at) => {
            routers.extend(on(health, probes()));
            routers.extend(on(at, numbers()));
        }
    }
    for (address, router) in routers {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let stop = stop.clone();
        let router = router.with_state(Arc::clone(&program));
        spawn(async move {
            let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        });
    }
    Ok(())
}

fn on<P>(bind: Bind, router: Router<Arc<P>>) -> Option<(SocketAddr, Router<Arc<P>>)> {
    match bind {
        Disabled::On(address) => Some((address, router)),
        Disabled::Off => None,
    }
}

async fn healthz<P: Probed>(State(program): State<Arc<P>>) -> (StatusCode, String) {
    match program.health() {
        Ok(()) => (StatusCode::OK, "ok\n".into()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn readyz<P: Probed>(State(program): State<Arc<P>>) -> (StatusCode, String) {
    match program.ready() {
        Ok(notes) => (StatusCode::OK, format!("ok\n{notes}")),
        Err(lines) => (StatusCode::SERVICE_UNAVAILABLE, lines),
    }
}

async fn encoded<P: Probed>(State(program): State<Arc<P>>) -> (StatusCode, String) {
    match program.metrics() {
        Some(text) => (StatusCode::OK, text),
        None => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
    }
}
