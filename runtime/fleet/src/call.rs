//! One request to an API server: with a deadline, a bound on the answer, and errors told apart.
//!
//! Large answers are read a few at a time: all processes' clusters together could fill the memory with what is only passing
//! through, and one alone could keep the others waiting.

use std::{ops::Deref, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Error as LegacyError;
use kube::client::Body;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    time::Instant,
};

use tower::ServiceExt as _;

use crate::{
    conventions::Conventions,
    dial::{Content, Sends},
    error::CallError,
    random,
};

/// How long a single request may take, the body included.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The same after failures. API servers themselves give up on a write after 34 s.
const LONGEST: Duration = Duration::from_secs(40);

/// Largest answer to a request for one object. etcd holds 1.5 MiB; JSON may be longer than what is stored.
pub const OBJECT_LIMIT: usize = 8 << 20;

/// Largest page of a list.
pub const LIST_LIMIT: usize = 16 << 20;

/// Largest error body: API servers say what is wrong with an object field by field.
const ERROR_LIMIT: usize = 128 << 10;

/// What is longer is a large answer.
pub(crate) const SMALL: usize = 1 << 20;

/// How many large answers are read, and looked at, at once: of all clusters together, each at most [`LIST_LIMIT`] long. One
/// cluster reads one at a time.
static LARGE: Semaphore = Semaphore::const_new(4);

/// One cluster's place in the line for large answers.
#[derive(Debug, Clone)]
pub(crate) struct Large(Arc<Semaphore>);

impl Default for Large {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Large {
    /// Waits for the right to hold one.
    pub(crate) async fn ticket(&self) -> Result<Ticket, CallError> {
        let ended = |_| CallError::Unreachable("the process is ending".into());
        // First the turn among its own, so that no cluster waits twice in the line of all.
        let own = Arc::clone(&self.0).acquire_owned().await.map_err(ended)?;
        // A simulator's world must not wait for the world of another thread.
        let of_all = if random::is_seeded() { None } else { Some(LARGE.acquire().await.map_err(ended)?) };
        Ok(Ticket { _own: own, _one_of_all: of_all })
    }
}

/// The right to hold one large answer.
#[derive(Debug)]
pub(crate) struct Ticket {
    _own: OwnedSemaphorePermit,
    _one_of_all: Option<SemaphorePermit<'static>>,
}

/// An answer's body. While it is held, so is its [`Ticket`], if it needed one.
#[derive(Debug)]
pub struct Answer {
    bytes: Vec<u8>,
    _ticket: Option<Ticket>,
}

impl Deref for Answer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Called after each request with verb, HTTP code (0 = none) and duration: the caller's metrics.
pub type Meter = fn(host: &str, verb: &str, code: u16, took: Duration);

/// A client for one API server and what every request to it shares.
#[derive(Clone)]
pub struct Caller {
    service: Sends,
    host: Arc<str>,
    conventions: &'static Conventions,
    meter: Meter,
    large: Large,
    /// Below which everything is asked for; empty: at the server's root.
    path: Arc<str>,
    deadline: Duration,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("host", &self.host).finish_non_exhaustive()
    }
}

fn transport_error(error: &(dyn std::error::Error + 'static)) -> CallError {
    // Only a failed connection proves that nothing was sent.
    let mut cause = Some(error);
    let mut text = error.to_string();
    let mut refused = false;
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            refused |= io.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        // Not by its text, some of which may be the server's.
        refused |= inner.downcast_ref::<LegacyError>().is_some_and(LegacyError::is_connect);
        cause = inner.source();
    }
    if refused { CallError::Unreachable(text) } else { CallError::UnknownOutcome(text) }
}

impl Caller {
    /// Requests through this service; `host` names the server in metrics.
    pub fn new(service: Sends, host: impl Into<Arc<str>>, conventions: &'static Conventions, meter: Meter) -> Self {
        let (large, path) = (Large::default(), Arc::default());
        Self { service, host: host.into(), conventions, meter, large, path, deadline: DEADLINE }
    }

    /// The same, where everything is asked for below a path, such as `/clusters/a`.
    pub(crate) fn within(&self, path: &str) -> Self {
        Self { path: path.into(), ..self.clone() }
    }

    /// The same with more time per request, after so many failures in a row of what it is for: what an API server takes longer
    /// for than we waited, it would else be asked for in vain for ever, and work on each time.
    #[must_use]
    pub fn after(self, failures: u32) -> Self {
        let deadline = DEADLINE.saturating_mul(1 << failures.min(8)).min(LONGEST);
        Self { deadline, ..self }
    }

    /// The same with as much time per request as any has, for what nobody waits for.
    #[must_use]
    pub fn patient(self) -> Self {
        self.after(u32::MAX)
    }

    fn placed(&self, mut request: Request<Vec<u8>>) -> Result<Request<Vec<u8>>, CallError> {
        if !self.path.is_empty() {
            let path = format!("{}{}", self.path, request.uri());
            *request.uri_mut() = path.parse().map_err(|error| CallError::Invalid(format!("{path}: {error}")))?;
        }
        Ok(request)
    }

    /// In whose name requests are sent.
    pub fn conventions(&self) -> &'static Conventions {
        self.conventions
    }

    /// A client that sends in the same way, for what needs a typed API.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service.clone(), "default")
    }

    /// Sends a request and returns the head of a successful response; the body is still to be read.
    pub async fn open(&self, request: Request<Vec<u8>>, deadline: Duration) -> Result<Response<Content>, CallError> {
        let started = Instant::now();
        let verb = request.method().as_str().to_owned();
        let request = self.placed(request)?.map(Body::from);
        let sent = tokio::time::timeout(deadline, self.service.clone().oneshot(request)).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                (self.meter)(&self.host, &verb, 0, started.elapsed());
                return Err(transport_error(&*error));
            }
            Err(_) => {
                (self.meter)(&self.host, &verb, 0, started.elapsed());
                return Err(CallError::UnknownOutcome(format!("no answer within {} s", deadline.as_secs())));
            }
        };
        let code = response.status();
        (self.meter)(&self.host, &verb, code.as_u16(), started.elapsed());
        if code.is_success() {
            return Ok(response);
        }
        if code.is_redirection() {
            // Never followed: a redirect could carry our token to another host.
            return Err(CallError::Invalid(format!(
                "the API server answered with a redirect ({code}), which is never followed"
            )));
        }
        let retry_after = retry_after(&response);
        let body = self.collect(response.into_body(), ERROR_LIMIT).await;
        Err(CallError::from_response(code.as_u16(), retry_after, body.as_deref().unwrap_or_default()))
    }

    /// Sends a request and reads the whole answer, at most `limit` bytes. True = 201 Created.
    pub async fn call(&self, request: Request<Vec<u8>>, limit: usize) -> Result<(StatusCode, Answer), CallError> {
        let response = self.open(request, self.deadline).await?;
        let code = response.status();
        Ok((code, self.collect(response.into_body(), limit).await?))
    }

    /// The line for large answers.
    pub(crate) fn large(&self) -> &Large {
        &self.large
    }

    /// Reads a body of at most `limit` bytes. The time it may take does not count while it waits for its turn.
    async fn collect(&self, mut body: Content, limit: usize) -> Result<Answer, CallError> {
        let mut bytes = Vec::new();
        let mut ticket = None;
        let mut end = Instant::now() + self.deadline;
        loop {
            let frame = match tokio::time::timeout_at(end, body.frame()).await {
                Ok(None) => return Ok(Answer { bytes, _ticket: ticket }),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    return Err(CallError::UnknownOutcome(format!("the answer broke off: {error}")));
                }
                Err(_) => {
                    let within = self.deadline.as_secs();
                    return Err(CallError::UnknownOutcome(format!("the answer did not end within {within} s")));
                }
            };
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limit {
                return Err(CallError::TooLarge(format!("the answer is longer than {limit} bytes")));
            }
            if ticket.is_none() && bytes.len() + data.len() > SMALL {
                ticket = Some(self.large.ticket().await?);
                end = Instant::now() + self.deadline;
                // At once: growing by doubling would hold it three times over.
                bytes.reserve_exact(limit - bytes.len());
            }
            bytes.extend_from_slice(&data);
        }
    }
}

fn retry_after(response: &Response<Content>) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    // A hostile server must not silence us for good.
    Some(Duration::from_secs(seconds.min(60)))
}

/// `GET path`, with an `Accept` header.
pub fn get(path: &str, accept: &'static str) -> Result<Request<Vec<u8>>, CallError> {
    build(http::Method::GET, path, &[(header::ACCEPT, accept)], Vec::new())
}

/// Any request. Paths are made of names that the API server gave us or accepted; one that is no URI is `Invalid`.
pub fn build(
    method: http::Method,
    path: &str,
    headers: &[(header::HeaderName, &'static str)],
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, CallError> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(body).map_err(|error| CallError::Invalid(format!("{path}: {error}")))
}

/// Media type of plain JSON.
pub const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use hyper_util::{
        client::legacy::Client,
        rt::{TokioExecutor, TokioIo},
    };
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_took_too_long_is_given_more_time() {
        let slow = tower::service_fn(async |_: Request<Body>| {
            tokio::time::sleep(Duration::from_secs(30)).await;
            Ok::<_, Infallible>(Response::new(Body::empty()))
        });
        let caller = Caller::new(crate::dial::sends(slow), "host", &crate::conventions::PLAIN, |_, _, _, _| {});
        for (failures, secs) in [(0, 10), (1, 20), (2, 30), (3, 30), (u32::MAX, 30)] {
            let began = Instant::now();
            let answered = caller.clone().after(failures).call(get("/", JSON).unwrap(), 100).await;
            assert_eq!((began.elapsed().as_secs(), answered.is_ok()), (secs, failures > 1), "{failures} failures");
        }
    }

    /// A server's words may stand in the error of a request that it has carried out.
    #[tokio::test]
    async fn that_nothing_was_sent_is_known_by_the_kind_of_an_error_and_not_by_its_text() {
        let asked = async |service| {
            let caller = Caller::new(service, "host", &crate::conventions::PLAIN, |_, _, _, _| {});
            caller.call(get("http://server/", JSON).unwrap(), 100).await.unwrap_err()
        };
        let says = tower::service_fn(async |_: Request<Body>| {
            Err::<Response<Body>, _>(std::io::Error::other("client error (Connect)"))
        });
        assert!(matches!(asked(crate::dial::sends(says)).await, CallError::UnknownOutcome(_)));
        let late = tower::service_fn(|_: http::Uri| {
            let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
            std::future::ready(Err::<TokioIo<TcpStream>, _>(late))
        });
        let service = Client::builder(TokioExecutor::new()).build(late);
        let error = asked(crate::dial::sends(service)).await;
        assert!(matches!(error, CallError::Unreachable(_)), "{error}");
    }

    #[tokio::test]
    async fn everything_is_asked_for_below_the_path() {
        let echo = tower::service_fn(async |request: Request<Body>| {
            Ok::<_, Infallible>(Response::new(Body::from(request.uri().to_string().into_bytes())))
        });
        let root = Caller::new(crate::dial::sends(echo), "host", &crate::conventions::PLAIN, |_, _, _, _| {});
        let asked = async |caller: &Caller| {
            let (_, answer) = caller.call(get("/api/v1/secrets?limit=1", JSON).unwrap(), 100).await.unwrap();
            String::from_utf8(answer.to_vec()).unwrap()
        };
        assert_eq!(asked(&root).await, "/api/v1/secrets?limit=1");
        assert_eq!(asked(&root.within("/clusters/a")).await, "/clusters/a/api/v1/secrets?limit=1");
    }
    #[tokio::test]
    async fn no_redirect_is_followed() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let elsewhere = tower::service_fn(move |_: Request<Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            let answer = Response::builder().status(307).header("location", "https://elsewhere.example");
            std::future::ready(Ok::<_, Infallible>(answer.body(Body::empty()).unwrap()))
        });
        let caller = Caller::new(crate::dial::sends(elsewhere), "host", &crate::conventions::PLAIN, |_, _, _, _| {});
        let refused = caller.call(get("/api/v1/secrets", JSON).unwrap(), 100).await.unwrap_err();
        assert!(refused.to_string().contains("never followed"), "{refused}");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
