//! What stubs answer to requests.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, stream};
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::asked::{EVENT, described};
use super::kind::{Kind, Target};
use super::refusal::Refusal;
use super::store::{Page, Written};
use super::stub::Stub;
use crate::extra::{BOOKMARK, bookmarks, lasting};
use crate::query::{is_watch, parameter};
use crate::recording::KUBE_SYSTEM;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
/// Longest body of a write.
const BODY: usize = 4 << 20;

/// The answer to a request.
pub(super) async fn answer(State(stub): State<Arc<Stub>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.method != Method::GET {
        return write(&stub, &head, body).await;
    }
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
    let metadata_only = header(&head, ACCEPT).contains("as=PartialObjectMetadata");
    if path == KUBE_SYSTEM {
        stub.asked.read();
        let metadata = json!({"name": "kube-system", "uid": stub.uid(), "resourceVersion": "1"});
        return told(200, &json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}));
    }
    let answer = match Target::of(path) {
        Some(target) if !is_watch(query) => Some(read(&stub, &target, query, metadata_only)),
        Some(target) if !metadata_only => Some(follow(&stub, target.kind, query)),
        Some(_) => None,
        None => recorded(&stub, path, query, metadata_only),
    };
    answer.unwrap_or_else(|| strange(&stub, &head))
}

fn header(head: &Parts, name: http::HeaderName) -> &str {
    head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn bytes(code: u16, body: impl Into<Body>) -> Response {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, [(CONTENT_TYPE, JSON)], body.into()).into_response()
}

fn told(code: u16, value: &Value) -> Response {
    bytes(code, value.to_string())
}

fn refused(refusal: &Refusal) -> Response {
    told(refusal.code, &refusal.to_json())
}

/// Something that a stub does not know, and that it was not expected to be asked for.
fn strange(stub: &Stub, head: &Parts) -> Response {
    stub.asked.unexpected(format!("{} {} ({})", head.method, head.uri.path(), header(head, ACCEPT)));
    told(404, &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}))
}

/// What a real API server said while nothing happened.
fn recorded(stub: &Stub, path: &str, query: &str, metadata_only: bool) -> Option<Response> {
    if is_watch(query) {
        let line = stub.recording.bookmark(path, metadata_only)?;
        stub.asked.watch();
        return Some(bytes(200, Body::from_stream(bookmarks(line, lasting(query), ()))));
    }
    let body = stub.recording.answer(path, metadata_only)?;
    stub.asked.read();
    Some(bytes(200, body))
}

fn read(stub: &Stub, target: &Target<'_>, query: &str, metadata_only: bool) -> Response {
    stub.asked.read();
    if !target.name.is_empty() {
        let held = stub.store().get(target).cloned();
        return held.map_or_else(|| refused(&Refusal::not_found(target)), |body| bytes(200, body));
    }
    let limit = parameter(query, "limit").and_then(|limit| limit.parse().ok()).unwrap_or_default();
    let behind = parameter(query, "continue").filter(|token| !token.is_empty());
    let page = Page { limit, behind: behind.and_then(behind_of), metadata_only };
    let list = stub.store().list(target, &page);
    bytes(200, list)
}

/// The version and the key of a `continue` token.
fn behind_of(token: &str) -> Option<(u64, String)> {
    let (version, key) = token.split_once('.')?;
    Some((version.parse().ok()?, String::from_utf8(hex::decode(key).ok()?).ok()?))
}

fn follow(stub: &Arc<Stub>, kind: Kind, query: &str) -> Response {
    stub.asked.watch();
    let since = parameter(query, "resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default();
    let watching = Watching {
        stub: Arc::clone(stub),
        news: stub.news(),
        kind,
        since,
        end: Instant::now() + lasting(query),
        ended: false,
    };
    bytes(200, Body::from_stream(lines(watching)))
}

/// A watch, and how far it has come.
struct Watching {
    stub: Arc<Stub>,
    news: watch::Receiver<()>,
    kind: Kind,
    since: u64,
    end: Instant,
    ended: bool,
}

fn lines(watching: Watching) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(watching, |mut watching| async move {
        let lines = watching.next().await?;
        Some((Ok(lines), watching))
    })
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            self.news.mark_unchanged();
            let news = self.stub.store().news(self.kind, self.since);
            let Some((lines, now)) = news else {
                self.ended = true;
                return Some(self.expired());
            };
            self.since = now;
            if !lines.is_empty() {
                return Some(lines.into());
            }
            let quiet = self.end.min(Instant::now() + BOOKMARK);
            match timeout_at(quiet, self.news.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) if Instant::now() >= self.end => return None,
                Err(_) => return Some(self.bookmark()),
            }
        }
        None
    }

    fn bookmark(&self) -> Bytes {
        let metadata = json!({"resourceVersion": self.since.to_string(), "creationTimestamp": null});
        let object = json!({"kind": self.kind.name(), "apiVersion": self.kind.api_version(), "metadata": metadata});
        format!("{}\n", json!({"type": "BOOKMARK", "object": object})).into()
    }

    fn expired(&self) -> Bytes {
        let message = format!("too old resource version: {}", self.since);
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "Expired", "code": 410});
        format!("{}\n", json!({"type": "ERROR", "object": status})).into()
    }
}

async fn write(stub: &Stub, head: &Parts, body: Body) -> Response {
    let body = to_bytes(body, BODY).await.unwrap_or_default();
    let sent: Value = if body.is_empty() { json!({}) } else { serde_json::from_slice(&body).unwrap_or_default() };
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
    let method = &head.method;
    if *method == Method::POST && path.starts_with("/apis/events.k8s.io/v1/namespaces/") {
        stub.asked.write(EVENT);
        return told(201, &event(sent));
    }
    let target = Target::of(path).filter(|target| !target.name.is_empty() && sent.is_object());
    let Some(target) = target else { return strange(stub, head) };
    let manager = parameter(query, "fieldManager").unwrap_or_default();
    let done = match (method.as_str(), header(head, CONTENT_TYPE)) {
        ("PATCH", APPLY) if !target.status => stub.store().apply(&target, sent, manager).map(Some),
        ("PATCH", MERGE) => stub.store().patch(&target, sent).map(Some),
        ("DELETE", _) => stub.store().delete(&target, &sent),
        _ => return strange(stub, head),
    };
    stub.asked.write(described(stub.role, method, &target));
    match done {
        Ok(Some(Written { code, body })) => {
            stub.tell();
            bytes(code, body)
        }
        Ok(None) => {
            stub.tell();
            told(200, &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}))
        }
        Err(refusal) => {
            stub.asked.write("refused");
            refused(&refusal)
        }
    }
}

/// An Event as if it were kept.
fn event(mut sent: Value) -> Value {
    if sent.get("metadata").is_some_and(Value::is_object) {
        sent["metadata"]["uid"] = json!("00000000-0000-4000-a000-000000000000");
        sent["metadata"]["resourceVersion"] = json!("1");
    }
    sent
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
