//! Why a stub does not do what it is asked for.

use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use super::kind::Target;

/// An API server's answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// HTTP status.
    pub(super) code: u16,
    reason: &'static str,
    message: String,
    /// Plural and name of the object.
    details: (&'static str, String),
}

impl Refusal {
    fn new(code: u16, reason: &'static str, target: &Target<'_>, why: &str) -> Self {
        let details = (target.kind.plural(), target.name.to_owned());
        Self { code, reason, message: format!("{} {:?} {why}", details.0, target.name), details }
    }

    /// There is no such object.
    pub(super) fn not_found(target: &Target<'_>) -> Self {
        Self::new(404, "NotFound", target, "not found")
    }

    /// A precondition does not hold.
    pub(super) fn conflict(target: &Target<'_>, why: &str) -> Self {
        Self::new(409, "Conflict", target, why)
    }

    /// It is there already.
    pub(super) fn already_exists(target: &Target<'_>) -> Self {
        Self::new(409, "AlreadyExists", target, "already exists")
    }

    /// As it is sent.
    pub(super) fn to_json(&self) -> Value {
        let (kind, name) = &self.details;
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
            "reason": self.reason, "details": {"kind": kind, "name": name}, "code": self.code,
        })
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Refusal {}
