//! `Answer`: what an API server answers with.

use std::sync::Arc;

use serde_json::Value;

use crate::{failure::Failure, verbs::Watching};

/// An answer, not yet in the form in which it is sent.
#[derive(Debug)]
pub(crate) enum Answer {
    Json(u16, Value),
    Object(u16, Arc<Value>),
    Text(u16, &'static str),
    Watch(Box<Watching>),
}

impl Answer {
    /// Nothing is served under this path.
    pub(crate) const NO_PATH: Self = Self::Text(404, "404 page not found\n");
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Json(failure.code, failure.to_json())
    }
}
