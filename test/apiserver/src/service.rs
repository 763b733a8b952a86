//! `Front`: what stands between a connection and the model.

use std::{error::Error, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError};
use serde_json::{Value, json};
use sim::{ApiServer, Target};
use tower::ServiceExt as _;

use crate::{
    audit::{Audit, Entry},
    review,
    roles::{Wish, refusal},
    users::{User, Users},
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

/// Why the model is not even asked: code, reason, message.
struct Refusal(StatusCode, &'static str, String);

/// All paths.
pub(crate) fn router(front: Arc<Front>) -> Router {
    Router::new().fallback(answer).with_state(front)
}

async fn answer(State(front): State<Arc<Front>>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let (user, target) = (front.users.of(&head.headers), Target::of(head.uri.path()));
    let name = user.as_deref().map_or("", |user| &user.name);
    let entry = Entry::of(&head, target.as_ref(), name);
    let asked = front.admit(&head, entry.verb(), user.as_deref(), target.as_ref());
    let body = match asked {
        Ok(()) => read(body).await,
        Err(refusal) => Err(refusal),
    };
    let answer = match (body, &user, &target) {
        (Err(Refusal(code, reason, message)), ..) => status(code, reason, &message),
        (Ok(body), Some(user), Some(target)) if head.method == Method::POST && review::is_review(target) => {
            let told = review::answer(&front.server, user, target, &body);
            let nothing = || status(StatusCode::BAD_REQUEST, "BadRequest", "the review asks nothing");
            told.map_or_else(nothing, |told| json_of(StatusCode::CREATED, &told))
        }
        (Ok(body), ..) => {
            let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
            let failed = |error: &dyn std::fmt::Display| {
                status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &error.to_string())
            };
            front
                .server
                .sends()
                .oneshot(request)
                .await
                .map_or_else(|error| failed(&error), |answer| answer.map(Body::new))
        }
    };
    front.told(entry, answer).await
}

impl Front {
    /// Whether the model is asked at all.
    fn admit(&self, head: &Parts, verb: &str, user: Option<&User>, target: Option<&Target>) -> Result<(), Refusal> {
        let user = user.ok_or_else(|| Refusal(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized".to_owned()))?;
        // Whoever believed that this was done would be wrong.
        let query = head.uri.query().unwrap_or_default();
        if query.contains("dryRun=") || head.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let message = "the model knows neither dry runs nor impersonation: such tests are for real API servers";
            return Err(Refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message.to_owned()));
        }
        // What is served, and whether all is well, everybody may ask.
        let Some(target) = target else { return Ok(()) };
        let makes = head.method == Method::PUT || head.method == Method::PATCH && is_apply(&head.headers);
        let creates = makes && target.subresource.is_empty() && !self.server.holds(target);
        for verb in [verb].into_iter().chain(creates.then_some("create")) {
            let wish = Wish { verb, target };
            if !user.may(&self.server, wish) {
                return Err(Refusal(StatusCode::FORBIDDEN, "Forbidden", refusal(&user.name, wish)));
            }
        }
        Ok(())
    }

    /// An answer, written down with what it says where it is a failure; that of a watch when it begins.
    async fn told(&self, entry: Entry, answer: Response<Body>) -> Response<Body> {
        let code = answer.status();
        if code.is_success() {
            self.audit.add(entry, code.as_u16(), "");
            return answer;
        }
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        self.audit.add(entry, code.as_u16(), said["message"].as_str().unwrap_or_default());
        Response::from_parts(head, Body::from(body))
    }
}

fn is_apply(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/apply-patch"))
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    axum::body::to_bytes(body, LONGEST).await.map_err(|error| {
        if error.source().is_some_and(<dyn Error>::is::<LengthLimitError>) {
            let message = format!("Request entity too large: limit is {LONGEST}");
            return Refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message);
        }
        Refusal(StatusCode::BAD_REQUEST, "BadRequest", error.to_string())
    })
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
