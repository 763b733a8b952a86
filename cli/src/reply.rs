//! What an API server replies, within bounds: neither consumers nor providers are trusted.

use std::error::Error;

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::{Client, client::Body};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longest reply, in bytes: a page of objects, most of which are large.
const LONGEST: usize = 256 << 20;

/// What is told of a reply that is no Status, in characters.
const TOLD: usize = 200;

/// Why there is none that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The API server says no: its code, and why.
    Status(StatusCode, String),
    /// It does not answer, or nobody can read what it says.
    Silent(String),
}

/// Sends a request and reads all of the reply.
pub(crate) async fn ask<T: DeserializeOwned>(client: &Client, request: Request<Vec<u8>>) -> Result<T, Refused> {
    let reply = client.send(request.map(Body::from)).await.map_err(|error| Refused::Silent(chain(&error)))?;
    let status = reply.status();
    let body = Limited::new(reply.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| Refused::Silent(chain(error.as_ref())))?.to_bytes();
    if !status.is_success() {
        return Err(Refused::Status(status, why(&body)));
    }
    serde_json::from_slice(&body).map_err(|error| Refused::Silent(format!("its answer cannot be read: {error}")))
}

/// What a Status says.
fn why(body: &[u8]) -> String {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    match said.as_ref().and_then(|said| said["message"].as_str()) {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(body).lines().next().unwrap_or_default().chars().take(TOLD).collect(),
    }
}

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_why_in_one_line() {
        assert_eq!(why(br#"{"kind":"Status","message":"no such thing"}"#), "no such thing");
        assert_eq!(why(b"<html>\n<body>"), "<html>");
        assert_eq!(why(&[b'x'; 1000]).len(), TOLD);
        assert_eq!(why(b""), "");
    }
}
