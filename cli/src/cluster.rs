//! `Cluster`: one API server, asked for what is there now. What cannot be known is an error, never "absent".

use std::{fmt, time::Duration};

use broker_api::ClusterName;
use http::{Method, Request, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::resource::{Resource, Resources};

/// How long one request may take. Whoever asks fifty clusters waits for the slowest.
const DEADLINE: Duration = Duration::from_secs(5);

/// How many objects a page of a list has.
const PAGE: usize = 500;

/// Why nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A permission is missing.
    Forbidden(String),
    /// The API server has no such kind.
    NotServed(String),
    /// No answer, or none that could be read.
    Other(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::NotServed(why) | Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Trouble {}

/// A cluster that can be asked.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Its name and role.
    pub(crate) name: ClusterName,
    client: Result<kube::Client, String>,
    resources: std::sync::Arc<OnceCell<Result<Resources, Trouble>>>,
}

/// Where an object is, within a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Namespace; of no account for kinds that have none.
    pub(crate) namespace: &'a str,
    /// Name.
    pub(crate) name: &'a str,
}

impl Cluster {
    /// A cluster, or why it cannot be asked.
    pub(crate) fn new(name: ClusterName, client: Result<kube::Client, String>) -> Self {
        Self { name, client, resources: std::sync::Arc::default() }
    }

    /// All that is served there.
    pub(crate) async fn resources(&self) -> Result<&Resources, Trouble> {
        self.resources.get_or_init(|| Resources::read(self)).await.as_ref().map_err(Clone::clone)
    }

    /// Asks for a path.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, path: &str, accept: &'static str) -> Result<T, Trouble> {
        let request = Request::builder().method(Method::GET).uri(path).header(header::ACCEPT, accept);
        self.send(request.body(Vec::new()).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Changes an object by a JSON merge patch (RFC 7386).
    pub(crate) async fn patch(&self, resource: &Resource, place: Place<'_>, patch: &Value) -> Result<Value, Trouble> {
        let path = format!("{}?fieldManager=kubectl-broker", resource.path(Some(place.namespace), Some(place.name)));
        let request = Request::builder().method(Method::PATCH).uri(path);
        let request = request.header(header::CONTENT_TYPE, "application/merge-patch+json");
        let body = patch.to_string().into_bytes();
        self.send(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Makes an object.
    pub(crate) async fn create(&self, resource: &Resource, namespace: &str, object: &Value) -> Result<Value, Trouble> {
        let path = format!("{}?fieldManager=kubectl-broker", resource.path(Some(namespace), None));
        let request = Request::builder().method(Method::POST).uri(path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let body = object.to_string().into_bytes();
        self.send(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    async fn send<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, Trouble> {
        let client =
            self.client.as_ref().map_err(|why| Trouble::Other(format!("{} cannot be asked: {why}", self.name)))?;
        let answer = tokio::time::timeout(DEADLINE, client.request::<T>(request)).await;
        let late = || Trouble::Other(format!("{} does not answer within {} s", self.name, DEADLINE.as_secs()));
        answer.map_err(|_| late())?.map_err(|error| self.trouble(&error))
    }

    fn trouble(&self, error: &kube::Error) -> Trouble {
        let name = &self.name;
        let kube::Error::Api(status) = error else {
            return Trouble::Other(format!("{name} does not answer: {}", chain(error)));
        };
        match StatusCode::from_u16(status.code) {
            Ok(StatusCode::FORBIDDEN) => Trouble::Forbidden(format!("{name}: {}", status.message)),
            Ok(StatusCode::UNAUTHORIZED) => Trouble::Forbidden(format!("{name} does not accept the credentials")),
            Ok(StatusCode::NOT_FOUND) => Trouble::NotServed(format!("{name}: {}", status.message)),
            _ => Trouble::Other(format!("{name}: {}", status.message)),
        }
    }

    /// An object; `None` where it is known that there is none.
    pub(crate) async fn get(&self, resource: &Resource, place: Place<'_>) -> Result<Option<Value>, Trouble> {
        match self.ask(&resource.path(Some(place.namespace), Some(place.name)), "application/json").await {
            Ok(object) => Ok(Some(object)),
            // The same code says that there is no such object, and that there is no such kind.
            Err(Trouble::NotServed(_)) if self.resources().await?.is_served(resource) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// All objects of a kind, in a namespace or in all.
    pub(crate) async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<Value>, Trouble> {
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let mut path = format!("{}?limit={PAGE}", resource.path(namespace, None));
            if let Some(selector) = selector {
                path.push_str("&labelSelector=");
                path.push_str(&escaped(selector));
            }
            if !next.is_empty() {
                path.push_str("&continue=");
                path.push_str(&escaped(&next));
            }
            let mut page: Value = self.ask(&path, "application/json").await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                found.extend(items);
            }
            match page["metadata"]["continue"].as_str() {
                Some(more) if !more.is_empty() => more.clone_into(&mut next),
                _ => return Ok(found),
            }
        }
    }
}

/// Every byte that may mean something in a query is escaped (RFC 3986).
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// An error and what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
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
    fn selectors_are_escaped() {
        assert_eq!(escaped("a.b/c in (x,y)"), "a.b%2Fc%20in%20%28x%2Cy%29");
    }
}
