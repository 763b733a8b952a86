//! What an API server replies, within bounds: neither consumers nor providers are trusted.

use std::error::Error;

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::{Client, client::Body};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longest reply, in bytes. Read, it takes several times as much.
pub(crate) const LONGEST: usize = 32 << 20;

/// What is told of a reply that is no Status, in characters.
const TOLD: usize = 200;

/// The same of a Status' message: one that names each field of a long object is of use, one without end is not.
const MESSAGE: usize = 4096;

/// Why there is none that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The API server says no: its code, and why.
    Status(StatusCode, String),
    /// It does not answer, or nobody can read what it says.
    Silent(String),
    /// It says more than [`LONGEST`].
    TooLong,
}

/// Sends a request and reads all of the reply; with it its length, in bytes.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &Client,
    request: Request<Vec<u8>>,
) -> Result<(T, usize), Refused> {
    let reply = client.send(request.map(Body::from)).await.map_err(|error| Refused::Silent(chain(&error)))?;
    let status = reply.status();
    let body = read(reply.into_body()).await?;
    let body = body.as_ref();
    if !status.is_success() {
        return Err(Refused::Status(status, why(body)));
    }
    match serde_json::from_slice(body) {
        Ok(read) => Ok((read, body.len())),
        Err(error) => Err(Refused::Silent(format!("its answer cannot be read: {error}"))),
    }
}

async fn read(body: Body) -> Result<impl AsRef<[u8]>, Refused> {
    match Limited::new(body, LONGEST).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refused::TooLong),
        Err(error) => Err(Refused::Silent(chain(error.as_ref()))),
    }
}

/// What a Status says.
fn why(body: &[u8]) -> String {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    match said.as_ref().and_then(|said| said["message"].as_str()) {
        Some(message) => cut(message, MESSAGE),
        None => cut(String::from_utf8_lossy(body).lines().next().unwrap_or_default(), TOLD),
    }
}

/// So many characters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_says_why_in_one_line() {
        assert_eq!(why(br#"{"kind":"Status","message":"no such thing"}"#), "no such thing");
        assert_eq!(why(b"<html>\n<body>"), "<html>");
        assert_eq!(why(&[b'x'; 1000]), format!("{}…", "x".repeat(TOLD)));
        assert_eq!(why(b""), "");
    }

    #[test]
    fn a_message_without_end_is_cut() {
        let said =
            |length: usize| why(json!({ "kind": "Status", "message": "é".repeat(length) }).to_string().as_bytes());
        assert_eq!(said(MESSAGE), "é".repeat(MESSAGE));
        assert_eq!(said(MESSAGE + 1), format!("{}…", "é".repeat(MESSAGE)));
    }

    #[tokio::test]
    async fn what_is_too_long_is_told_apart_from_silence() {
        let whole = read(Body::from(vec![b'x'; LONGEST])).await;
        assert_eq!(whole.map(|body| body.as_ref().len()), Ok(LONGEST));
        let more = read(Body::from(vec![b'x'; LONGEST + 1])).await;
        assert_eq!(more.map(|body| body.as_ref().len()), Err(Refused::TooLong));
    }
}
