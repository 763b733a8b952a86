//! A store as its users see it: HTTP/1.0 by hand, for which a client library would be too much.

use std::time::Duration;

use http::Uri;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{access::Access, content::Entries};

/// A store that does not answer within this time is taken to be gone.
const DEADLINE: Duration = Duration::from_secs(10);

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its address is not `http://host:port/…`.
    #[error("{0:?} is not an address such as http://host:port/stores/default/cart")]
    Address(String),
    /// No connection, or it broke.
    #[error("{url}: {source}")]
    Connection {
        /// The store.
        url: String,
        /// What happened.
        source: std::io::Error,
    },
    /// It took too long.
    #[error("{0}: no answer within {time} s", time = DEADLINE.as_secs())]
    Deadline(String),
    /// It does not speak HTTP, or not as expected.
    #[error("{0}: the answer cannot be understood")]
    Answer(String),
    /// It said no.
    #[error("{url}: {status}: {message}")]
    Refused {
        /// The store.
        url: String,
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
}

impl RemoteError {
    /// Whether a migration holds writers off: the same may work in a moment, perhaps at another address.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Refused { status: 423, .. })
    }
}

/// A store somewhere.
pub struct Remote {
    access: Access,
    address: Uri,
}

impl Remote {
    /// The store of this address and token.
    pub fn new(access: Access) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Address(access.url.clone());
        let address: Uri = access.url.parse().map_err(|_| wrong())?;
        // The token goes into a header as it is.
        let plain = access.token.bytes().all(|byte| byte.is_ascii_graphic());
        if address.scheme_str() != Some("http") || address.host().is_none() || !plain {
            return Err(wrong());
        }
        Ok(Self { access, address })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// All entries: the export.
    pub async fn entries(&self) -> Result<Entries, RemoteError> {
        let body = self.request("GET", "/entries", "").await?;
        serde_json::from_str(&body).map_err(|_| RemoteError::Answer(self.access.url.clone()))
    }

    /// From now on exactly these entries: the import.
    pub async fn replace(&self, entries: &Entries) -> Result<(), RemoteError> {
        let body = serde_json::json!(entries).to_string();
        self.request("PUT", "/entries", &body).await.map(drop)
    }

    /// Sets one entry. Once this returns, it is stored.
    pub async fn put(&self, key: &str, value: &str) -> Result<(), RemoteError> {
        self.request("PUT", &format!("/entries/{key}"), value).await.map(drop)
    }

    /// Holds writers off for so many seconds; 0 lets them in again.
    pub async fn hold(&self, seconds: u32) -> Result<(), RemoteError> {
        self.request("PUT", "/hold", &seconds.to_string()).await.map(drop)
    }

    async fn request(&self, method: &str, path: &str, body: &str) -> Result<String, RemoteError> {
        let url = || self.access.url.clone();
        let answer = timeout(DEADLINE, self.exchange(method, path, body)).await;
        let answer = answer.map_err(|_| RemoteError::Deadline(url()))?;
        let answer = answer.map_err(|source| RemoteError::Connection { url: url(), source })?;
        let (status, body) = parse(&answer).ok_or_else(|| RemoteError::Answer(url()))?;
        if (200..300).contains(&status) {
            return Ok(body.to_owned());
        }
        Err(RemoteError::Refused { url: url(), status, message: body.trim().to_owned() })
    }

    async fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let host = self.address.host().unwrap_or_default();
        let mut stream = TcpStream::connect((host, self.address.port_u16().unwrap_or(80))).await?;
        let head = format!(
            "{method} {base}{path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n",
            base = self.address.path().trim_end_matches('/'),
            token = self.access.token,
            length = body.len(),
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

/// Status and body. An answer that was cut off is none: its length is not what its head says.
fn parse(answer: &str) -> Option<(u16, &str)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    (length.unwrap_or(body.len()) == body.len()).then_some((status, body))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn answers_are_whole_or_none() {
        assert_eq!(parse("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Some((200, "{}")));
        assert_eq!(parse("HTTP/1.0 204 No Content\r\n\r\n"), Some((204, "")));
        assert_eq!(parse("HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\n{}"), None);
        assert_eq!(parse("HTTP/1.0 200 OK\r\n"), None);
        assert_eq!(parse("hello"), None);
    }

    #[test]
    fn addresses_are_checked() {
        let new = |url: &str, token: &str| Remote::new(Access { url: url.to_owned(), token: token.to_owned() });
        assert_eq!(new("http://127.0.0.1:1/stores/a/b", "t").unwrap().url(), "http://127.0.0.1:1/stores/a/b");
        for (url, token) in [("https://a/b", "t"), ("/stores/a/b", "t"), ("", "t"), ("http://a/b", "t\r\nHost: c")] {
            assert!(matches!(new(url, token), Err(RemoteError::Address(_))), "{url}");
        }
    }
}
