//! The page that shows people how it stands (`--dashboard-bind-address`). It reads what the process holds in memory anyway, and
//! of graphs, which are another program's, what it watches for itself. It asks API servers for nothing else but who its reader
//! is, and changes nothing.
//!
//! From top to bottom: `access.rs` says who may read; `summary.rs`, `trace.rs` and `graphs.rs` gather; `page.rs`, `object.rs`,
//! `graph.rs` and `search.rs` make HTML of that without asking anybody; `listener.rs` sends what has changed since.

mod access;
mod age;
#[cfg(test)]
mod contrast;
mod definition;
mod flow;
mod fragment;
mod frame;
mod graph;
mod graph_section;
mod graphs;
mod health;
mod html;
mod kept;
mod kind;
mod listener;
mod migration;
mod object;
mod page;
mod picture;
mod query;
mod refusal;
mod reply;
mod review;
mod rollout;
mod search;
mod sight;
mod summary;
mod told;
mod tone;
mod trace;
mod verdicts;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode, header, request::Parts},
    response::Response,
};
use runtime_fleet::{blocking::blocking, crash::spawn, lock::lock};
use tokio::{
    net::TcpListener,
    sync::{Mutex as AsyncMutex, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::{
    access::Access,
    flow::Flow,
    fragment::Fragment,
    graphs::{Graph, Graphs},
    listener::{Listener, Shown, Shows},
    query::Query,
    review::Reviewer,
    search::Search,
    summary::Summary,
    trace::Trace,
};
use crate::{broker::Broker, options::Disabled};

/// How many may listen at once.
const SEATS: usize = 64;

/// How much is looked up at once: a search walks over all objects.
const LOOKS: usize = 2;

/// How long what was gathered is good for, however many look at it.
const FRESH: Duration = Duration::from_millis(900);

const STYLE: &str = include_str!("dashboard/style.css");
const SCRIPT: &str = include_str!("dashboard/script.js");
const ICON: &str = include_str!("dashboard/icon.svg");

/// Serves the page where the flag says, until `stop`.
///
/// # Errors
/// It cannot listen there.
pub async fn serve(broker: &Arc<Broker>, stop: CancellationToken) -> anyhow::Result<()> {
    let Disabled::On(address) = broker.options.dashboard_bind_address else { return Ok(()) };
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let dashboard = Dashboard::new(Arc::clone(broker), address, stop.clone());
    spawn(flow::run(Arc::clone(broker), Arc::clone(&dashboard.flow), stop.clone()));
    let router = Router::new().fallback(answer).with_state(dashboard);
    spawn(async move {
        let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
    });
    Ok(())
}

/// See the module.
struct Dashboard {
    broker: Arc<Broker>,
    access: Access,
    flow: Arc<Mutex<Flow>>,
    graphs: Arc<Graphs>,
    /// The first page, and when it was gathered. Whoever finds it old makes it anew, and the others wait for that.
    last: AsyncMutex<Option<(Instant, Vec<Fragment>)>>,
    seats: Arc<Semaphore>,
    looks: Semaphore,
    stop: CancellationToken,
}

async fn answer(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let (request, _) = request.into_parts();
    reply::sealed(dashboard.reply(&request).await)
}

impl Dashboard {
    /// Served at an address. `stop` ends what goes on by itself.
    fn new(broker: Arc<Broker>, address: SocketAddr, stop: CancellationToken) -> Arc<Self> {
        let access = Access::at(address, || Reviewer::new(Arc::clone(&broker)));
        let graphs = Arc::new(Graphs::watch(&broker));
        Arc::new(Self {
            broker,
            access,
            flow: Arc::default(),
            graphs,
            last: AsyncMutex::default(),
            seats: Arc::new(Semaphore::new(SEATS)),
            looks: Semaphore::new(LOOKS),
            stop,
        })
    }

    async fn reply(self: &Arc<Self>, request: &Parts) -> Response {
        if let Err(refusal) = self.access.check(request).await {
            return refusal.reply();
        }
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let reply = reply::line(StatusCode::METHOD_NOT_ALLOWED, "this page changes nothing: use GET");
            return reply::with(reply, header::ALLOW, "GET, HEAD");
        }
        let query = Query::new(request.uri.query());
        let shown = match request.uri.path() {
            "/" => self.first().await,
            "/search" => self.search(&query.value("q")).await,
            "/object" => self.object(query, request.uri.query().unwrap_or_default()).await,
            "/graph" => self.graph(&query.value("name")).await,
            "/events" => return self.events(query),
            "/style.css" => Some(reply::file("text/css; charset=utf-8", STYLE)),
            "/script.js" => Some(reply::file("text/javascript; charset=utf-8", SCRIPT)),
            // Browsers ask for one, and would ask for /favicon.ico otherwise.
            "/icon.svg" => Some(reply::file("image/svg+xml", ICON)),
            _ => Some(reply::line(StatusCode::NOT_FOUND, "there is no such page")),
        };
        let failed = || reply::line(StatusCode::INTERNAL_SERVER_ERROR, "this could not be gathered; the log says why");
        shown.unwrap_or_else(failed)
    }

    async fn first(&self) -> Option<Response> {
        let fragments = self.fragments(&Shown::All).await?;
        Some(reply::page(StatusCode::OK, page::page(&fragments)))
    }

    async fn search(&self, typed: &str) -> Option<Response> {
        let (search, graphs) = (Search::new(typed), Arc::clone(&self.graphs));
        let hits = self.look(move |broker| search.find(broker, &graphs)).await?;
        Some(reply::page(StatusCode::OK, search::page(typed, &hits)))
    }

    async fn object(&self, query: Query<'_>, same: &str) -> Option<Response> {
        let Some(key) = trace::key_of(&self.broker, query) else {
            return Some(reply::page(StatusCode::NOT_FOUND, object::missing()));
        };
        let trace = self.look(move |broker| Trace::of(broker, &key)).await?;
        Some(match trace.filter(Trace::is_known) {
            Some(trace) => reply::page(StatusCode::OK, object::page(&trace, &format!("events?{same}"))),
            None => reply::page(StatusCode::NOT_FOUND, object::missing()),
        })
    }

    async fn graph(&self, name: &str) -> Option<Response> {
        if name.is_empty() {
            return Some(reply::page(StatusCode::NOT_FOUND, graph::missing()));
        }
        let shown = self.look_at_graph(name).await?;
        Some(if shown.is_missing() {
            reply::page(StatusCode::NOT_FOUND, graph::missing())
        } else {
            reply::page(StatusCode::OK, graph::page(&shown))
        })
    }

    fn events(self: &Arc<Self>, query: Query<'_>) -> Response {
        let graph = query.value("graph");
        let what = if query.is_empty() {
            Shown::All
        } else if graph.is_empty() {
            match trace::key_of(&self.broker, query) {
                Some(key) => Shown::One(key),
                None => return reply::line(StatusCode::NOT_FOUND, "there is no such object"),
            }
        } else {
            Shown::Graph(graph)
        };
        let Ok(seat) = Arc::clone(&self.seats).try_acquire_owned() else {
            return reply::line(StatusCode::SERVICE_UNAVAILABLE, "too many look at this already; load the page anew");
        };
        let (may_end, stop) = (self.access.may_end(), self.stop.clone());
        reply::events(Listener::new(Arc::clone(self), what, seat, may_end, stop).events())
    }

    async fn look_at_graph(&self, name: &str) -> Option<Graph> {
        let (graphs, name) = (Arc::clone(&self.graphs), name.to_owned());
        self.look(move |broker| graphs.one(broker, &name)).await
    }

    async fn summary(&self) -> Option<Vec<Fragment>> {
        let mut last = self.last.lock().await;
        if let Some((at, fragments)) = &*last
            && at.elapsed() < FRESH
        {
            return Some(fragments.clone());
        }
        let (broker, measures) = (Arc::clone(&self.broker), lock(&self.flow).measures());
        let graphs = Arc::clone(&self.graphs);
        let gather = move || page::fragments(&Summary::gather(&broker, measures, graphs.list(&broker)));
        let gathered = blocking(gather).await.ok()?;
        *last = Some((Instant::now(), gathered.clone()));
        Some(gathered)
    }

    /// Looks something up on a thread of its own, a few at a time. `None`: that panicked.
    async fn look<T: Send + 'static>(&self, look: impl FnOnce(&Broker) -> T + Send + 'static) -> Option<T> {
        // Never closed.
        let _turn = self.looks.acquire().await.ok();
        let broker = Arc::clone(&self.broker);
        blocking(move || look(&broker)).await.ok()
    }
}

impl Shows for Dashboard {
    async fn fragments(&self, what: &Shown) -> Option<Vec<Fragment>> {
        match what {
            Shown::All => self.summary().await,
            Shown::One(key) => {
                let key = key.clone();
                let trace = self.look(move |broker| Trace::of(broker, &key)).await??;
                Some(vec![object::fragment(&trace)])
            }
            Shown::Graph(name) => Some(vec![graph::fragment(&self.look_at_graph(name).await?)]),
        }
    }
}

#[cfg(test)]
#[path = "dashboard/tests.rs"]
mod tests;
