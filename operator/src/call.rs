//! Requests to the API server: each with a deadline, and its error with what was asked.

use std::{future::Future, time::Duration};

/// How long one request may take.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer in time: whether a write took place is not known.
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Deadline,
    /// The API server's answer, or none.
    #[error("{}", told(.0))]
    Kube(#[source] Box<kube::Error>),
}

/// The API server's own words, without Rust around them.
fn told(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

impl CallError {
    /// HTTP status of the answer, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Kube(error) => match error.as_ref() {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Deadline => None,
        }
    }

    /// Whether the API server understood and said no: the same request will fail again until somebody changes something.
    /// 500 is such an answer, too: of a webhook that fails, and of a server-side apply with duplicates in a list.
    pub fn is_refusal(&self) -> bool {
        self.code().is_some_and(|code| matches!(code, 400..=500) && !matches!(code, 401 | 408 | 409 | 429))
    }
}

/// Waits for an answer, but not for ever.
pub async fn call<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match tokio::time::timeout(DEADLINE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(CallError::Kube(Box::new(error))),
        Err(_) => Err(CallError::Deadline),
    }
}

/// As [`call`]; what is not there is no error.
pub async fn call_opt<T>(request: impl Future<Output = kube::Result<T>>) -> Result<Option<T>, CallError> {
    match call(request).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}
