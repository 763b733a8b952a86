//! `Front`: what stands between a connection and the model.

use std::sync::Arc;

use axum::{Router, body::Body, extract::State};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sim::{ApiServer, Target};
use tower::ServiceExt as _;

use crate::{
    access::{self, Users, Wish},
    audit::{Audit, Entry},
};

/// Longer bodies are refused, as kube-apiserver refuses them.
const LONGEST: usize = 3 << 20;

/// Whoever asks is known, and it is written down.
#[derive(Debug)]
pub(crate) struct Front {
    /// What answers.
    pub(crate) server: ApiServer,
    pub(crate) users: Users,
    pub(crate) audit: Audit,
}

/// All paths.
pub(crate) fn router(front: Arc<Front>) -> Router {
    Router::new().fallback(answer).with_state(front)
}

async fn answer(State(front): State<Arc<Front>>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let user = front.users.of(&head.headers);
    let target = Target::of(head.uri.path());
    let name = user.as_deref().map_or("system:anonymous", |user| &user.name);
    let entry = Entry::of(&head, target.as_ref(), name);
    let refused = match (&user, &target) {
        (None, _) => Some((StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized".to_owned())),
        // Whoever is known may ask what is served, and whether all is well.
        (Some(_), None) => None,
        (Some(user), Some(target)) => {
            let wish = Wish { verb: entry.verb(), target };
            let refused = !user.may(&front.server, wish);
            refused.then(|| (StatusCode::FORBIDDEN, "Forbidden", access::refusal(name, wish)))
        }
    };
    if let Some((code, reason, message)) = refused {
        front.audit.add(entry, code.as_u16(), &message);
        return status(code, reason, &message);
    }
    let Ok(body) = axum::body::to_bytes(body, LONGEST).await else {
        let message = "Request entity too large: limit is 3145728";
        front.audit.add(entry, 413, message);
        return status(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message);
    };
    if let (Some(user), Some(target), true) = (&user, &target, head.method == Method::POST)
        && let Some(review) = access::review(&front.server, user, target, &body)
    {
        front.audit.add(entry, 201, "");
        return json_of(StatusCode::CREATED, &review);
    }
    let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    match front.server.sends().oneshot(request).await {
        Ok(answer) if entry.is_watch() => {
            front.audit.add(entry, answer.status().as_u16(), "");
            answer.map(Body::new)
        }
        Ok(answer) => told(&front, entry, answer.map(Body::new)).await,
        Err(error) => status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &error.to_string()),
    }
}

/// An answer, written down with what it says where it is a failure.
async fn told(front: &Front, entry: Entry, answer: Response<Body>) -> Response<Body> {
    let code = answer.status();
    if code.is_success() {
        front.audit.add(entry, code.as_u16(), "");
        return answer;
    }
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    front.audit.add(entry, code.as_u16(), said["message"].as_str().unwrap_or_default());
    Response::from_parts(head, Body::from(body))
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let said = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
        "message": message, "code": code.as_u16()});
    json_of(code, &said)
}

fn json_of(code: StatusCode, said: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(said.to_string()));
    *answer.status_mut() = code;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
