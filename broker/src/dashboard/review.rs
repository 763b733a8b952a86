//! `Reviewer`: asks the coordination cluster whose a token is, and whether that person may see the page.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::http::{Method, header};
use runtime_fleet::{
    call::{Caller, JSON, build},
    error::CallError,
    lock::lock,
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    refusal::Refusal,
    verdicts::{Fingerprint, Verdict, Verdicts},
};
use crate::broker::Broker;

/// Where it is asked whose a token is.
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

/// Where it is asked what somebody may do.
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// What a person must be allowed to `get`: a path that no API server serves.
const PATH: &str = "/dashboard";

/// Longest answer. A user may be in thousands of groups.
const LIMIT: usize = 1 << 20;

/// How many reviews are under way at once: strangers can ask for as many as they like.
const AT_ONCE: usize = 4;

/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

const AWAY: &str = "the coordination cluster, which knows who you are, does not answer; try again in a moment";
const BUSY: &str = "too many ask at once; try again in a moment";
const FORBIDDEN: &str = "the broker may not ask who you are: in the coordination cluster it needs create on tokenreviews \
                         (authentication.k8s.io) and on subjectaccessreviews (authorization.k8s.io), as config/rbac/dashboard.yaml \
                         has it";

/// See the module.
pub(super) struct Reviewer {
    broker: Arc<Broker>,
    verdicts: Mutex<Verdicts>,
    turns: Semaphore,
}

impl Reviewer {
    /// One that has seen no token yet.
    pub(super) fn new(broker: Arc<Broker>) -> Self {
        Self { broker, verdicts: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }

    /// Whether the owner of a token may see the page. Where that cannot be found out nobody may.
    pub(super) async fn review(&self, token: &str) -> Result<(), Refusal> {
        let fingerprint = Fingerprint::of(token);
        if let Some(verdict) = self.known(fingerprint) {
            return verdict.result();
        }
        let turn = timeout(PATIENCE, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else { return Err(Refusal::Unavailable(BUSY)) };
        // Whoever loads a page asks for several things at once.
        if let Some(verdict) = self.known(fingerprint) {
            return verdict.result();
        }
        let verdict = self.ask(token).await?;
        lock(&self.verdicts).put(fingerprint, verdict.clone(), Instant::now());
        verdict.result()
    }

    fn known(&self, token: Fingerprint) -> Option<Verdict> {
        lock(&self.verdicts).get(token, Instant::now())
    }

    async fn ask(&self, token: &str) -> Result<Verdict, Refusal> {
        let connection = self.broker.hub().and_then(|hub| hub.connection()).ok_or(Refusal::Unavailable(AWAY))?;
        let answer = post(&connection.caller, TOKEN_REVIEWS, &token_review(token)).await?;
        let Some((name, user)) = user(&answer) else { return Ok(Verdict::Nobody) };
        let answer = post(&connection.caller, ACCESS_REVIEWS, &access_review(user)).await?;
        Ok(if is_allowed(&answer) { Verdict::Granted } else { Verdict::Denied(name.into()) })
    }
}

/// Sends a review. What went wrong is told in our own words: an API server's may quote what was sent.
async fn post(caller: &Caller, path: &str, review: &Value) -> Result<Value, Refusal> {
    let headers = [(header::CONTENT_TYPE, JSON), (header::ACCEPT, JSON)];
    let body = serde_json::to_vec(review).unwrap_or_default();
    let sent = async { caller.call(build(Method::POST, path, &headers, body)?, LIMIT).await };
    match sent.await {
        Ok((_, answer)) => serde_json::from_slice(&answer).map_err(|_| Refusal::Unavailable(AWAY)),
        Err(CallError::Forbidden(_)) => Err(Refusal::Unavailable(FORBIDDEN)),
        Err(_) => Err(Refusal::Unavailable(AWAY)),
    }
}

fn token_review(token: &str) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}})
}

/// Whose a token is, by the answer to a TokenReview: the name, and all that is known of the user.
fn user(answer: &Value) -> Option<(&str, &Map<String, Value>)> {
    let status = &answer["status"];
    if status["authenticated"] != true {
        return None;
    }
    let user = status["user"].as_object()?;
    let name = user.get("username")?.as_str().filter(|name| !name.is_empty())?;
    Some((name, user))
}

fn access_review(user: &Map<String, Value>) -> Value {
    let mut spec = json!({"nonResourceAttributes": {"path": PATH, "verb": "get"}});
    for (here, there) in [("username", "user"), ("uid", "uid"), ("groups", "groups"), ("extra", "extra")] {
        if let Some(value) = user.get(here) {
            spec[there] = value.clone();
        }
    }
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
}

/// Whether the answer to a SubjectAccessReview is yes.
fn is_allowed(answer: &Value) -> bool {
    answer["status"]["allowed"] == true && answer["status"]["denied"] != true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_authenticated_user_with_a_name_is_somebody() {
        let jane = json!({"username": "jane", "uid": "1", "groups": ["ops"], "extra": {"scopes": ["a"]}, "other": 1});
        let answer = json!({"status": {"authenticated": true, "user": jane}});
        let (name, user) = user(&answer).unwrap();
        assert_eq!(name, "jane");
        let asked = access_review(user);
        assert_eq!(
            asked["spec"],
            json!({
                "user": "jane", "uid": "1", "groups": ["ops"], "extra": {"scopes": ["a"]},
                "nonResourceAttributes": {"path": "/dashboard", "verb": "get"},
            })
        );
        for answer in [
            json!({}),
            json!({"status": {"user": {"username": "jane"}}}),
            json!({"status": {"authenticated": false, "user": {"username": "jane"}, "error": "invalid bearer token"}}),
            json!({"status": {"authenticated": "true", "user": {"username": "jane"}}}),
            json!({"status": {"authenticated": true}}),
            json!({"status": {"authenticated": true, "user": {"username": ""}}}),
            json!("Status"),
        ] {
            assert_eq!(super::user(&answer), None, "{answer}");
        }
    }

    #[test]
    fn only_yes_is_yes() {
        assert!(is_allowed(&json!({"status": {"allowed": true}})));
        for status in
            [json!({}), json!({"allowed": false}), json!({"allowed": true, "denied": true}), json!({"allowed": 1})]
        {
            assert!(!is_allowed(&json!({"status": status})), "{status}");
        }
    }

    #[test]
    fn a_token_is_sent_and_nothing_else() {
        assert_eq!(token_review("sesame")["spec"], json!({"token": "sesame"}));
    }

    #[tokio::test]
    async fn without_the_coordination_cluster_nobody_is_anybody() {
        let (broker, _channels) = Broker::of_one_kind();
        let reviewer = Reviewer::new(broker);
        assert_eq!(reviewer.review("sesame").await, Err(Refusal::Unavailable(AWAY)));
        assert_eq!(reviewer.known(Fingerprint::of("sesame")), None, "it is asked again");
    }
}
