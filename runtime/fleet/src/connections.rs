//! `Connections`: those to one API server, and the requests on each.
//!
//! HTTP/2 where the server speaks it: reads and watches share a connection, as many as servers allow on one, and so do
//! writes. What is not read (a watch whose reader waits) fills its own window and no more, so that it holds up no other. Pings tell when
//! a connection is dead. Requests that come while none is open wait, for a while, for the one that the first of them opens: a
//! handshake costs more than what most of them ask for. What a server says it has not looked at is sent again: API servers end
//! connections at will, after each request that they do not know the sender of, and some by chance (`--goaway-chance`).

use std::{
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use hyper_util::{
    client::legacy::{
        Builder, Client, Error,
        connect::{Connect, Connected, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use kube::client::Body;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tower::Service;

/// Requests and watches on one connection. Servers allow more (kube-apiserver: 100 at the least), and one that is over
/// the limit would wait until a watch ends.
const SHARE: u32 = 64;

/// Bytes of one answer that the server may send before they are read.
const WINDOW: u32 = 512 << 10;

/// Connections that wait for requests, where each request needs its own: HTTP/1.1.
const IDLE: usize = 16;

/// A connection for writes that nobody uses for so long is closed.
const UNUSED: Duration = Duration::from_mins(1);

/// No ping before so long a silence, and the connection is dead where its answer takes so long.
const PING: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(10);

/// An answer that was begun has come to nothing where its reader leaves after so long without any more of it: of most
/// answers, and of watches, in which there is something every minute.
const STALLED: Duration = Duration::from_secs(5);
const SILENT: Duration = Duration::from_mins(2);

/// So long others wait for whoever opens a connection; then each opens its own. Most handshakes take a few round trips.
const OPENING: Duration = Duration::from_secs(1);

/// So often a request is sent that the server says it has not looked at.
const SENDINGS: u32 = 3;

/// What one connection carries.
#[derive(Debug, Default)]
struct Load {
    requests: AtomicU32,
    /// A request on it was given up without an answer, or in the middle of it: the next ones go over another.
    doubtful: AtomicBool,
    /// A request looks for an open connection, and opens one where there is none.
    opening: AtomicBool,
    /// It has one, or has come to nothing.
    opened: Notify,
    /// The server speaks HTTP/1.1: each request needs a connection of its own, and nobody waits for another's.
    one_each: AtomicBool,
}

/// Whoever opens a connection, until there is one, or none.
struct Opener<'a>(&'a Load);

impl Drop for Opener<'_> {
    fn drop(&mut self) {
        self.0.opening.store(false, Ordering::Relaxed);
        self.0.opened.notify_waiters();
    }
}

impl Load {
    /// Whoever is to open a connection if there is none. `None`: another has, or each opens its own.
    async fn opener(&self) -> Option<Opener<'_>> {
        if self.one_each.load(Ordering::Relaxed) {
            return None;
        }
        let opened = self.opened.notified();
        if !self.opening.swap(true, Ordering::Relaxed) {
            return Some(Opener(self));
        }
        if timeout(OPENING, opened).await.is_err() {
            // The next one need not wait so long for it.
            self.opening.store(false, Ordering::Relaxed);
        }
        None
    }
}

/// Writes go over connections of their own: a server that has many requests to answer on the connection of a watch comes late
/// with its events, and ends a watch that it comes too late with. Most clusters are seldom written to, so that these are
/// closed when they are idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    Reads,
    Writes,
}

impl Carries {
    fn of(request: &Request<Body>) -> Self {
        if request.method() == Method::GET || is_review(request) { Self::Reads } else { Self::Writes }
    }

    /// After so long without a request a connection is closed.
    fn idle(self) -> Option<Duration> {
        match self {
            // Watches go on all the time.
            Self::Reads => None,
            Self::Writes => Some(UNUSED),
        }
    }
}

/// One connection, made when it is first needed and again when it broke; or, with HTTP/1.1, as many as there are requests.
struct Line<C> {
    /// What goes over it.
    carries: Carries,
    client: Client<C, Body>,
    load: Arc<Load>,
}

impl<C> Line<C> {
    fn requests(&self) -> u32 {
        self.load.requests.load(Ordering::Relaxed)
    }

    fn is_doubtful(&self) -> bool {
        self.load.doubtful.load(Ordering::Relaxed)
    }
}

/// All connections to one API server.
#[derive(Clone)]
pub(crate) struct Connections<C> {
    connector: C,
    lines: Arc<Mutex<Vec<Line<C>>>>,
}

/// See [`STALLED`].
fn patience(request: &Request<Body>) -> Duration {
    let query = request.uri().query().unwrap_or_default();
    if query.split('&').any(|part| part.starts_with("watch=")) { SILENT } else { STALLED }
}

/// Whether it asks who somebody is, or what somebody may do: a POST that changes nothing. Some servers have a prefix before the
/// path.
fn is_review(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    let reviews = ["/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/"];
    request.method() == Method::POST && reviews.iter().any(|group| path.contains(group))
}

/// The same request once more; `None` where the body can be read only once.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

/// Whether the server says that it has done nothing with a request, so that any may be sent again: the connection is ended
/// before it (RFC 9113, 6.8), or it is one too many (8.7).
fn is_unprocessed(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        if let Some(told) = inner.downcast_ref::<h2::Error>().filter(|told| told.is_remote()) {
            let reason = told.reason();
            return (told.is_go_away() && reason == Some(h2::Reason::NO_ERROR))
                || (told.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM));
        }
        cause = inner.source();
    }
    false
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// The head of the answer.
    Head,
    /// More of the body, since then: its reader has all that has come.
    Body(Instant),
    /// Nothing: it has not been sent, the answer is whole, or its reader has other things to do.
    Nothing,
}

/// One request's part of a connection's load, until its answer is read or dropped.
#[derive(Debug)]
struct Place {
    load: Arc<Load>,
    awaits: Awaits,
    patience: Duration,
}

impl Place {
    /// Sends a request over an open connection. Where there is none, one is opened.
    async fn send<C>(
        &mut self,
        client: &Client<C, Body>,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let opener = self.load.opener().await;
        if !is_review(&request) {
            self.awaits = Awaits::Head;
        }
        let mut taken = capture_connection(&mut request);
        let mut answer = pin!(client.request(request));
        if opener.is_some() {
            tokio::select! {
                biased;
                // There was none to be had.
                answer = &mut answer => return answer,
                connection = taken.wait_for_connection_metadata() => {
                    let is_shared = connection.as_ref().is_some_and(Connected::is_negotiated_h2);
                    self.load.one_each.store(!is_shared, Ordering::Relaxed);
                }
            }
        }
        drop(opener);
        answer.await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.load.requests.fetch_sub(1, Ordering::Relaxed);
        let given_up = match self.awaits {
            Awaits::Head => true,
            // Whoever has read enough leaves an answer at any time.
            Awaits::Body(since) => since.elapsed() >= self.patience,
            Awaits::Nothing => false,
        };
        if given_up {
            self.load.doubtful.store(true, Ordering::Relaxed);
        }
    }
}

/// The body of an answer.
pub(crate) struct Answered {
    body: Incoming,
    place: Place,
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.place.awaits = match (&polled, self.place.awaits) {
            (Poll::Ready(_), _) => Awaits::Nothing,
            (Poll::Pending, Awaits::Body(since)) => Awaits::Body(since),
            (Poll::Pending, _) => Awaits::Body(Instant::now()),
        };
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Connections<C> {
    /// None yet; `connector` makes them.
    pub(crate) fn new(connector: C) -> Self {
        Self { connector, lines: Arc::default() }
    }

    fn line(&self, carries: Carries) -> Line<C> {
        let client = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(carries.idle())
            .pool_max_idle_per_host(IDLE)
            .http2_initial_stream_window_size(WINDOW)
            .http2_initial_connection_window_size(WINDOW * SHARE)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(ANSWER)
            .http2_keep_alive_while_idle(true)
            .build(self.connector.clone());
        Line { carries, client, load: Arc::default() }
    }

    /// A connection with room for one more.
    fn place(&self, request: &Request<Body>) -> (Client<C, Body>, Place) {
        let carries = Carries::of(request);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        // What goes on there goes on; where nothing does it is closed.
        lines.retain(|line| !line.is_doubtful() || line.requests() > 0);
        let fits = |line: &Line<C>| line.carries == carries && !line.is_doubtful() && line.requests() < SHARE;
        let first = lines.iter().position(fits).unwrap_or_else(|| {
            lines.push(self.line(carries));
            lines.len() - 1
        });
        let line = &lines[first];
        line.load.requests.fetch_add(1, Ordering::Relaxed);
        (
            line.client.clone(),
            Place { load: Arc::clone(&line.load), awaits: Awaits::Nothing, patience: patience(request) },
        )
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for Connections<C> {
    type Response = Response<Answered>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, mut place) = self.place(&request);
        Box::pin(async move {
            let (mut request, mut left) = (request, SENDINGS);
            let answer = loop {
                left -= 1;
                let again = if left > 0 { copy(&request) } else { None };
                match (place.send(&client, request).await, again) {
                    (Err(error), Some(again)) if is_unprocessed(&error) => {
                        place.awaits = Awaits::Nothing;
                        request = again;
                    }
                    (answer, _) => break answer,
                }
            };
            // An error is an answer, too: a connection that broke is made again.
            place.awaits = Awaits::Nothing;
            Ok(answer?.map(|body| Answered { body, place }))
        })
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
