//! One request to an API server: with a deadline, a bound on the answer, and errors told apart.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;

use crate::error::CallError;

/// How long a single request may take, the body included.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Largest answer to a request for one object. etcd holds 1.5 MiB; JSON may be longer than what is stored.
pub const OBJECT_LIMIT: usize = 8 << 20;

/// Largest page of a list.
pub const LIST_LIMIT: usize = 128 << 20;

/// Called after each request with verb, HTTP code (0 = none) and duration: the caller's metrics.
pub type Meter = fn(host: &str, verb: &str, code: u16, took: Duration);

/// A client for one API server and what every request to it shares.
#[derive(Clone)]
pub struct Caller {
    client: kube::Client,
    host: std::sync::Arc<str>,
    meter: Meter,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("host", &self.host).finish_non_exhaustive()
    }
}

fn transport_error(error: &kube::Error) -> CallError {
    // Only a failed connection proves that nothing was sent.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
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
        refused |= more.contains("client error (Connect)");
        cause = inner.source();
    }
    if refused { CallError::Unreachable(text) } else { CallError::UnknownOutcome(text) }
}

impl Caller {
    /// Requests through this client; `host` names the server in metrics.
    pub fn new(client: kube::Client, host: impl Into<std::sync::Arc<str>>, meter: Meter) -> Self {
        Self { client, host: host.into(), meter }
    }

    /// The client itself, for what needs a typed API.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Sends a request and returns the head of a successful response; the body is still to be read.
    pub async fn open(&self, request: Request<Vec<u8>>, deadline: Duration) -> Result<Response<Body>, CallError> {
        let started = Instant::now();
        let verb = request.method().as_str().to_owned();
        let request = request.map(Body::from);
        let sent = tokio::time::timeout(deadline, self.client.send(request)).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                (self.meter)(&self.host, &verb, 0, started.elapsed());
                return Err(transport_error(&error));
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
        let body = collect(response.into_body(), 1 << 20, DEADLINE).await.unwrap_or_default();
        Err(CallError::from_response(code.as_u16(), retry_after, &body))
    }

    /// Sends a request and reads the whole answer, at most `limit` bytes. True = 201 Created.
    pub async fn call(&self, request: Request<Vec<u8>>, limit: usize) -> Result<(StatusCode, Vec<u8>), CallError> {
        let response = self.open(request, DEADLINE).await?;
        let code = response.status();
        Ok((code, collect(response.into_body(), limit, DEADLINE).await?))
    }
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    // A hostile server must not silence us for good.
    Some(Duration::from_secs(seconds.min(60)))
}

async fn collect(body: Body, limit: usize, deadline: Duration) -> Result<Vec<u8>, CallError> {
    let read = tokio::time::timeout(deadline, Limited::new(body, limit).collect()).await;
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(CallError::TooLarge(format!("the answer is longer than {limit} bytes")))
        }
        Ok(Err(error)) => Err(CallError::UnknownOutcome(format!("the answer broke off: {error}"))),
        Err(_) => Err(CallError::UnknownOutcome(format!("the answer did not end within {} s", deadline.as_secs()))),
    }
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
