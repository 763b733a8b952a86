//! `CallError`: what went wrong with one request, told apart as far as decisions need it.

use std::time::Duration;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed as _, IgnoredAny},
};

use crate::each::Each;

/// Why a request to an API server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// A precondition (uid, resourceVersion) did not hold: the object is not what was looked at. Look again.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Created by somebody else in between.
    #[error("already exists: {0}")]
    AlreadyExists(String),
    /// The API server refuses the content; repeating it does not help.
    #[error("invalid: {0}")]
    Invalid(String),
    /// The content holds fields that the kind's schema does not have: our schema is stale.
    #[error("schema mismatch: {0}")]
    SchemaMismatch(String),
    /// The content is larger than the API server takes.
    #[error("too large: {0}")]
    TooLarge(String),
    /// The credentials may not do this.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// Whoever has to be asked before the object is stored, a webhook, gives no answer.
    #[error("not admitted: {0}")]
    AdmissionFailed(String),
    /// The credentials are not valid (any more).
    #[error("unauthorized: {0}")]
    Unauthorized(String),
    /// There is no such object.
    #[error("not found: {0}")]
    NotFound(String),
    /// The namespace does not exist.
    #[error("namespace missing: {0}")]
    NamespaceMissing(String),
    /// The namespace is being deleted; nothing can be created in it.
    #[error("namespace terminating: {0}")]
    NamespaceTerminating(String),
    /// The API server does not serve this kind.
    #[error("kind missing: {0}")]
    KindMissing(String),
    /// Too many requests; wait for so long if the server said so.
    #[error("throttled: {message}")]
    Throttled {
        /// `Retry-After`, if given.
        retry_after: Option<Duration>,
        /// The server's words.
        message: String,
    },
    /// The resource version is too old; list again.
    #[error("gone: {0}")]
    Gone(String),
    /// The request cannot have been carried out: no connection.
    #[error("unreachable: {0}")]
    Unreachable(String),
    /// The request may have been carried out: the answer was lost, late or a server error. Look before repeating.
    #[error("outcome unknown: {0}")]
    UnknownOutcome(String),
}

/// What we read of meta/v1 `Status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    message: String,
    reason: String,
    /// HTTP status.
    pub(crate) code: u16,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    kind: String,
    name: String,
    causes: Causes,
}

/// Whether one of the causes is that the namespace is being deleted, or that the object has another uid than was said. There
/// may be any number of them.
#[derive(Debug, Default)]
struct Causes {
    terminating: bool,
    other_uid: bool,
}

/// One of them, as API servers name it.
#[derive(Deserialize)]
struct StatusCause {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    field: Option<String>,
    #[serde(default, rename = "message")]
    _message: Option<IgnoredAny>,
}

impl<'de> Deserialize<'de> for Causes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut causes = Self::default();
        Each::new(|cause: StatusCause| {
            causes.terminating |= cause.reason.as_deref() == Some("NamespaceTerminating");
            causes.other_uid |= cause.field.as_deref() == Some("metadata.uid");
        })
        .deserialize(deserializer)?;
        Ok(causes)
    }
}

/// A 404 whose body says which object is missing means the object; any other 404 means the path, that is the kind.
fn not_found(status: &Status) -> CallError {
    let message = cut(&status.message);
    match &status.details {
        Some(details) if details.kind == "namespaces" && message.starts_with("namespaces ") => {
            CallError::NamespaceMissing(message)
        }
        Some(details) if !details.name.is_empty() => CallError::NotFound(message),
        _ => CallError::KindMissing(message),
    }
}

/// Longest text that is taken over from an API server: it goes into conditions, Events and memory.
const LONGEST: usize = 1024;

pub(crate) fn cut(text: &str) -> String {
    let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text[..end].to_owned()
}

impl CallError {
    /// Reads an error response.
    pub fn from_response(code: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
            Status { message: text, code, ..Status::default() }
        });
        let message = if status.message.is_empty() { format!("HTTP {code}") } else { cut(&status.message) };
        let has = |cause: fn(&Causes) -> bool| status.details.as_ref().is_some_and(|details| cause(&details.causes));
        let terminating = has(|causes| causes.terminating);
        match code {
            // A patch for an object that was made anew meanwhile: to the API server a field that must not change.
            422 if has(|causes| causes.other_uid) => Self::Conflict(message),
            400 | 422 if status.reason != "AlreadyExists" => Self::Invalid(message),
            401 => Self::Unauthorized(message),
            403 if terminating => Self::NamespaceTerminating(message),
            403 => Self::Forbidden(message),
            404 => not_found(&status),
            409 if status.reason == "AlreadyExists" => Self::AlreadyExists(message),
            409 => Self::Conflict(message),
            410 => Self::Gone(message),
            413 => Self::TooLarge(message),
            405 | 406 | 415 => Self::Invalid(message),
            429 => Self::Throttled { retry_after, message },
            // structured-merge-diff's error for undeclared fields comes as a plain 500.
            500 if message.contains("field not declared in schema") => Self::SchemaMismatch(message),
            // So do its other errors about the content: a value of another type, two list entries under one key.
            500 if message.contains("failed to create typed patch object") => Self::Invalid(message),
            // etcd's and gRPC's own limits come as a plain 500, too.
            500 if message.contains("request is too large") || message.contains("larger than max") => {
                Self::TooLarge(message)
            }
            // Nothing has been stored: this is asked before.
            500 if message.contains("failed calling webhook") => Self::AdmissionFailed(message),
            503 if retry_after.is_some() => Self::Throttled { retry_after, message },
            500..=599 => Self::UnknownOutcome(format!("HTTP {code}: {message}")),
            _ => Self::Invalid(format!("HTTP {code}: {message}")),
        }
    }

    /// Whether the cluster itself, not this one request, seems to be the trouble.
    pub fn suspects_cluster(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::UnknownOutcome(_) | Self::Unauthorized(_))
    }

    /// A short word for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "Conflict",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::Invalid(_) => "Invalid",
            Self::SchemaMismatch(_) => "SchemaMismatch",
            Self::TooLarge(_) => "TooLarge",
            Self::Forbidden(_) => "Forbidden",
            Self::AdmissionFailed(_) => "AdmissionFailed",
            Self::Unauthorized(_) => "Unauthorized",
            Self::NotFound(_) => "NotFound",
            Self::NamespaceMissing(_) => "NamespaceMissing",
            Self::NamespaceTerminating(_) => "NamespaceTerminating",
            Self::KindMissing(_) => "KindMissing",
            Self::Throttled { .. } => "Throttled",
            Self::Gone(_) => "Gone",
            Self::Unreachable(_) => "Unreachable",
            Self::UnknownOutcome(_) => "UnknownOutcome",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: u16, body: &str) -> CallError {
        CallError::from_response(code, None, body.as_bytes())
    }

    #[test]
    fn tells_object_namespace_and_kind_apart() {
        let object =
            r#"{"kind":"Status","reason":"NotFound","message":"x \"a\" not found","details":{"name":"a","kind":"x"}}"#;
        let namespace = r#"{"kind":"Status","reason":"NotFound","message":"namespaces \"n\" not found","details":{"name":"n","kind":"namespaces"}}"#;
        assert_eq!(read(404, object).reason(), "NotFound");
        assert_eq!(read(404, namespace).reason(), "NamespaceMissing");
        assert_eq!(read(404, "404 page not found").reason(), "KindMissing");
    }

    #[test]
    fn a_webhook_that_does_not_answer_is_no_trouble_of_the_cluster() {
        let body = r#"{"kind":"Status","reason":"InternalError","code":500,"message":"Internal error occurred: failed calling webhook \"a.example.org\": connection refused"}"#;
        let error = read(500, body);
        assert_eq!(error.reason(), "AdmissionFailed");
        assert!(!error.suspects_cluster() && error.to_string().contains("a.example.org"), "{error}");
    }

    #[test]
    fn a_terminating_namespace_is_not_a_permission() {
        let body = r#"{"kind":"Status","reason":"Forbidden","message":"no","details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#;
        assert_eq!(read(403, body).reason(), "NamespaceTerminating");
        assert_eq!(read(403, "{}").reason(), "Forbidden");
    }

    #[test]
    fn an_object_that_was_made_anew_is_no_invalid_content() {
        let body = |field: &str| {
            format!(
                r#"{{"kind":"Status","reason":"Invalid","message":"no","details":{{"causes":[
                {{"reason":"FieldValueInvalid","message":"field is immutable","field":"{field}"}}]}}}}"#
            )
        };
        assert_eq!(read(422, &body("metadata.uid")).reason(), "Conflict");
        assert_eq!(read(422, &body("spec.uid")).reason(), "Invalid");
    }

    #[test]
    fn what_a_server_says_is_bounded() {
        let body = format!(r#"{{"message":"{}"}}"#, "é".repeat(100_000));
        assert!(read(422, &body).to_string().len() < 1200);
    }

    #[test]
    fn a_server_error_leaves_the_outcome_open() {
        assert_eq!(read(500, "boom").reason(), "UnknownOutcome");
        assert_eq!(read(500, r#"{"message":"x: field not declared in schema"}"#).reason(), "SchemaMismatch");
        let typed = "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .data.a: expected string";
        assert_eq!(read(500, &format!(r#"{{"message":"{typed}"}}"#)).reason(), "Invalid");
        let throttled = CallError::from_response(503, Some(Duration::from_secs(1)), b"");
        assert_eq!(throttled.reason(), "Throttled");
    }
}
